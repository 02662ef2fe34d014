/** The serial ports of the option. */
import type { SerialPortRecord } from '../capabilities/module-ports/index.ts';
import type { Config } from '../platform/config/index.ts';

/** `rs485=/dev/ttyUSB0:9600:8N1` and so on, as the option's check has let it pass. */
export function portsOfOption(text: Config['serialPorts']): SerialPortRecord[] {
  const ports = (text ?? '').split(',').filter((port) => port !== '');
  return ports.map((port) => {
    const [name = '', line = ''] = port.split('=');
    const [path = '', baudRate = '9600', format = '8N1'] = line.split(':');
    return {
      name: name.trim(),
      path,
      baudRate: Number(baudRate),
      dataBits: Number(format[0]),
      parity: format[1] ?? 'N',
      stopBits: Number(format[2]),
      aliases: [],
    };
  });
}
