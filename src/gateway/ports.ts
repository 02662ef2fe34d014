/** Ports of the board: those that the option declares, and whether one can be used. */
import type { IoPortRecord, SerialPortRecord } from '../capabilities/module-ports/index.ts';
import { parseDeclaredPort } from '../lib/address.ts';
import type { Config } from '../platform/config/index.ts';
import { analogProblem, canProblem, gpioProblem } from '../platform/host/index.ts';

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

/** Why a port of the board cannot be used; undefined: it can. */
export function ioPortProblem({
  kind,
  path,
}: Pick<IoPortRecord, 'kind' | 'path'>): Promise<string | undefined> {
  if (kind === 'CAN') return canProblem(path);
  return kind === 'ANALOG_INPUT' ? analogProblem(path) : gpioProblem(path);
}
