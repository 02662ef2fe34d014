/** Serial lines of the gateway: those that are set, a new one, and whether one can be used. */
import { call } from '../api.ts';
import type { SerialPort } from '../shapes.ts';
import { type Choice, Form, InputField, SelectField, useAction } from '../ui.tsx';
import { useTyped } from '../ui/typed.ts';
import { FindDevices } from '../parts/field-scan.tsx';
import { PORT_NAME, PortsCard } from './ports.tsx';
import { say } from '../words/later.ts';

const choicesOf = (numbers: readonly number[]): Choice[] =>
  numbers.map((number) => ({ value: String(number), text: String(number) }));
const BAUD_RATES = choicesOf([1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 57_600, 115_200]);
const STOP_BITS = choicesOf([1, 2]);
const PARITIES = [
  { value: 'N', text: say.ports.parityNone },
  { value: 'E', text: say.ports.parityEven },
  { value: 'O', text: say.ports.parityOdd },
];

export function SerialPortsCard() {
  return (
    <PortsCard<SerialPort>
      title={say.ports.serialTitle}
      kind="serial_ports"
      none={say.ports.serialNone}
      describe={({ path, baud_rate: baud, data_bits: bits, parity, stop_bits: stop, source }) =>
        `${path}${path.startsWith('/') ? `, ${baud} baud, ${bits}${parity}${stop}` : ''}${source === 'OPTION' ? say.ports.ofOption : ''}`
      }
      isFixed={({ source }) => source === 'OPTION'}
      more={({ name }) => <FindDevices place={{ uri: `port://${name}` }} />}
      add={{
        text: say.ports.addPortAsking,
        title: say.ports.addLine,
        form: (onDone) => <AddSerial onDone={onDone} />,
      }}
    />
  );
}

function AddSerial({ onDone }: { onDone: () => void }) {
  const { typed, bound } = useTyped(() => ({
    port_name: 'rs485',
    port_path: '/dev/ttyUSB0',
    baud_rate: '9600',
    parity: 'N',
    stop_bits: '1',
  }));
  const action = useAction(async () => {
    const { port_name: name, port_path: file, baud_rate: baud, parity, stop_bits: stop } = typed;
    const body = { name, path: file, baud_rate: Number(baud), parity, stop_bits: Number(stop) };
    await call('POST', '/v3/serial_ports', body);
    onDone();
  });
  return (
    <Form action={action} submit={say.everywhere.add} onCancel={onDone}>
      <p class="hint">{say.ports.scriptsRestart}</p>
      <InputField
        label={say.everywhere.name}
        hint={say.ports.serialNameHint}
        {...bound('port_name')}
        {...PORT_NAME}
      />
      <InputField
        label={say.ports.deviceFile}
        hint={say.ports.deviceFileHint}
        {...bound('port_path')}
        required
        spellcheck={false}
      />
      <SelectField label={say.ports.baudRate} {...bound('baud_rate')} choices={BAUD_RATES} />
      <div class="pair">
        <SelectField label={say.ports.parity} {...bound('parity')} choices={PARITIES} />
        <SelectField label={say.ports.stopBits} {...bound('stop_bits')} choices={STOP_BITS} />
      </div>
    </Form>
  );
}
