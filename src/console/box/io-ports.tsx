/** Contacts, relays, analogue channels and CAN interfaces of the board. */
import { call } from '../api.ts';
import type { IoPort } from '../shapes.ts';
import { Check, Form, InputField, SelectField, useAction } from '../ui.tsx';
import { useTyped } from '../ui/typed.ts';
import { PORT_NAME, PortsCard } from './ports.tsx';
import { say } from '../words/later.ts';

/** Name of each kind, with examples of names and paths. */
const KINDS: Readonly<Record<IoPort['kind'], { text: string; name: string; path: string; hint: string }>> = {
  DIGITAL_INPUT: {
    text: say.ports.contact,
    name: 'di-1',
    path: '/dev/gpiochip0',
    hint: say.ports.gpioHint,
  },
  DIGITAL_OUTPUT: {
    text: say.ports.relay,
    name: 'rl-1',
    path: '/dev/gpiochip0',
    hint: say.ports.gpioHint,
  },
  ANALOG_INPUT: {
    text: say.ports.analogue,
    name: 'ai-1',
    path: '/sys/bus/iio/devices/iio:device0/in_voltage0',
    hint: say.ports.analogueHint,
  },
  CAN: { text: say.ports.can, name: 'can', path: 'can0', hint: say.ports.canHint },
};
const KIND_CHOICES = Object.entries(KINDS).map(([value, { text }]) => ({
  value: value as IoPort['kind'],
  text,
}));
const BIASES = [
  { value: 'AS_IS', text: say.ports.asBoard },
  { value: 'DISABLED', text: say.ports.biasNone },
  { value: 'PULL_UP', text: say.ports.biasUp },
  { value: 'PULL_DOWN', text: say.ports.biasDown },
];

function describe({ kind, path, line, active_low: isLow, bias, debounce_ms: debounceMs }: IoPort): string {
  return [
    KINDS[kind].text,
    line === undefined ? path : say.ports.pathLine(path, line),
    ...(isLow === true ? [say.ports.lowIsOn] : []),
    ...(bias === 'PULL_UP' || bias === 'PULL_DOWN'
      ? [bias === 'PULL_UP' ? say.ports.biasUp : say.ports.biasDown]
      : []),
    ...(debounceMs === undefined ? [] : [say.ports.steadyFor(debounceMs)]),
  ].join(', ');
}

export function IoPortsCard() {
  return (
    <PortsCard<IoPort>
      title={say.ports.ioTitle}
      kind="io_ports"
      none={say.ports.ioNone}
      describe={describe}
      add={{
        text: say.ports.addPortAsking,
        title: say.ports.addPort,
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
    await call('POST', '/v3/io_ports', {
      name,
      kind,
      path,
      ...(isContact && { line: Number(line), active_low: isLow }),
      ...(isInput && { bias, debounce_ms: Number(typed.debounce_ms) }),
    });
    onDone();
  });
  return (
    <Form action={action} submit={say.everywhere.add} onCancel={onDone}>
      <p class="hint">{say.ports.scriptsRestart}</p>
      <SelectField
        label={say.everywhere.whatItIs}
        {...bound('port_kind')}
        onValue={(value) => setTyped(typedOf(value))}
        choices={KIND_CHOICES}
      />
      <InputField
        label={say.everywhere.name}
        hint={say.ports.nameUsual(KINDS[kind].name)}
        {...bound('port_name')}
        {...PORT_NAME}
      />
      <InputField
        label={say.ports.place}
        hint={KINDS[kind].hint}
        {...bound('port_path')}
        required
        spellcheck={false}
      />
      {isContact && (
        <>
          <InputField
            label={say.ports.line}
            hint={say.ports.lineHint}
            type="number"
            min={0}
            {...bound('line')}
            required
          />
          <Check value={isLow} onValue={(value) => change({ isLow: value })}>
            {say.ports.lowMeansOn}
          </Check>
        </>
      )}
      {isInput && (
        <div class="pair">
          <SelectField label={say.ports.resistor} {...bound('bias')} choices={BIASES} />
          <InputField
            label={say.ports.steady}
            hint={say.ports.steadyHint}
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
