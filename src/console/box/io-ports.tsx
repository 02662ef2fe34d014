/** Contacts, relays, analogue channels and CAN interfaces of the board. */
import { call } from '../api.ts';
import type { IoPort } from '../shapes.ts';
import { Check, Form, InputField, SelectField, useAction, useTyped } from '../ui.tsx';
import { PORT_NAME, PortsCard } from './ports.tsx';

const PORTS = '/v3/io_ports';

/** What each kind is called, and how its name and path usually read. */
const KINDS: Readonly<Record<IoPort['kind'], { text: string; name: string; path: string; hint: string }>> = {
  DIGITAL_INPUT: {
    text: 'Contact (digital input)',
    name: 'di-1',
    path: '/dev/gpiochip0',
    hint: 'The GPIO chip; gpiodetect lists those of the board.',
  },
  DIGITAL_OUTPUT: {
    text: 'Relay (digital output)',
    name: 'rl-1',
    path: '/dev/gpiochip0',
    hint: 'The GPIO chip; gpiodetect lists those of the board.',
  },
  ANALOG_INPUT: {
    text: 'Analogue channel',
    name: 'ai-1',
    path: '/sys/bus/iio/devices/iio:device0/in_voltage0',
    hint: 'A channel below /sys/bus/iio/devices.',
  },
  CAN: { text: 'CAN interface', name: 'can', path: 'can0', hint: 'As ip link lists it.' },
};
const KIND_CHOICES = Object.entries(KINDS).map(([value, { text }]) => ({
  value: value as IoPort['kind'],
  text,
}));
const BIASES = [
  { value: 'AS_IS', text: 'as the board has it' },
  { value: 'DISABLED', text: 'none' },
  { value: 'PULL_UP', text: 'up' },
  { value: 'PULL_DOWN', text: 'down' },
];

function describe({ kind, path, line, active_low: isLow, bias, debounce_ms: debounceMs }: IoPort): string {
  return [
    KINDS[kind].text,
    line === undefined ? path : `${path} line ${line}`,
    ...(isLow === true ? ['low is on'] : []),
    ...(bias === 'PULL_UP' || bias === 'PULL_DOWN' ? [`pulled ${bias === 'PULL_UP' ? 'up' : 'down'}`] : []),
    ...(debounceMs === undefined ? [] : [`steady for ${debounceMs} ms`]),
  ].join(', ');
}

export function IoPortsCard() {
  return (
    <PortsCard<IoPort>
      title="Contacts, relays, channels and CAN"
      address={PORTS}
      listOf={({ io_ports: ports }: { io_ports: IoPort[] }) => ports}
      none="None. Devices wired to terminals of the board, or on a CAN bus, need one."
      describe={describe}
      add={{
        text: 'Add port…',
        title: 'Add a port of the board',
        form: (onDone) => <AddIo onDone={onDone} />,
      }}
    />
  );
}

const typedOf = (kind: IoPort['kind']) => ({
  port_kind: kind,
  port_name: KINDS[kind].name,
  port_path: KINDS[kind].path,
  line: '0',
  isLow: false,
  bias: 'AS_IS',
  debounce_ms: '5',
});

function AddIo({ onDone }: { onDone: () => void }) {
  const { typed, setTyped, change, bound } = useTyped(() => typedOf('DIGITAL_INPUT'));
  const { port_kind: kind, port_name: name, port_path: path, line, isLow, bias } = typed;
  const isInput = kind === 'DIGITAL_INPUT';
  const isContact = isInput || kind === 'DIGITAL_OUTPUT';
  const action = useAction(async () => {
    await call('POST', PORTS, {
      name,
      kind,
      path,
      ...(isContact && { line: Number(line), active_low: isLow }),
      ...(isInput && { bias, debounce_ms: Number(typed.debounce_ms) }),
    });
    onDone();
  });
  return (
    <Form action={action} submit="Add">
      <p class="hint">Scripts of the gateway start again, because they may use the port then.</p>
      <SelectField
        label="What it is"
        {...bound('port_kind')}
        onValue={(value) => setTyped(typedOf(value))}
        choices={KIND_CHOICES}
      />
      <InputField
        label="Name"
        hint={`Scripts ask for it; ${KINDS[kind].name} is usual.`}
        {...bound('port_name')}
        {...PORT_NAME}
      />
      <InputField label="Place" hint={KINDS[kind].hint} {...bound('port_path')} required spellcheck={false} />
      {isContact && (
        <>
          <InputField
            label="Line"
            hint="Its number on the chip."
            type="number"
            min={0}
            {...bound('line')}
            required
          />
          <Check value={isLow} onValue={(value) => change({ isLow: value })}>
            The low level means on, or closed
          </Check>
        </>
      )}
      {isInput && (
        <div class="pair">
          <SelectField label="Resistor" {...bound('bias')} choices={BIASES} />
          <InputField
            label="Steady for, ms"
            hint="Before a change counts."
            type="number"
            min={0}
            max={60_000}
            {...bound('debounce_ms')}
            required
          />
        </div>
      )}
    </Form>
  );
}
