/** A process of field devices, so that they cost the measured programs nothing. */
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { serveModbusTcp } from '../simulate/modbus-server.ts';
import {
  type FieldDevicesOrder,
  type FromFieldDevices,
  type Poll,
  type ToFieldDevices,
  truthfulUnits,
} from './field-devices.ts';

const clock = createSystemClock();
const polls: Poll[] = [];

/** Each device at a port of its own. */
async function start({ first, count }: FieldDevicesOrder): Promise<void> {
  const ports: number[] = [];
  for (let device = first; device < first + count; device += 1) {
    const onPoll = (poll: Poll): void => void polls.push(poll);
    const units = truthfulUnits({ device, inverterUnit: 1, meterUnit: 2, clock, onPoll });
    const faults = { of: () => undefined };
    ports.push((await serveModbusTcp({ units, faults, clock, host: '127.0.0.1', port: 0 })).port);
  }
  tell({ kind: 'ready', ports });
}

function tell(message: FromFieldDevices): void {
  process.send?.(message);
}

process.on('message', (message: ToFieldDevices) => {
  if (message.kind === 'start') void start(message.order);
  else tell({ kind: 'polls', polls });
});
process.on('disconnect', () => process.exit(0));
