/** The serial ports of the option. */
import type { SerialPortRecord } from '../capabilities/module-ports/index.ts';
import { parseDeclaredPort } from '../lib/serial-server.ts';
import type { Config } from '../platform/config/index.ts';

/** `rs485=/dev/ttyUSB0:9600:8N1` and so on, as the option's check has let it pass. */
export function portsOfOption(text: Config['serialPorts']): SerialPortRecord[] {
  return (text ?? '').split(',').flatMap((declared) => {
    const port = parseDeclaredPort(declared);
    if (port === undefined) return [];
    const { format, ...line } = port;
    const [dataBits, parity = 'N', stopBits] = format;
    return { ...line, dataBits: Number(dataBits), parity, stopBits: Number(stopBits), aliases: [] };
  });
}
