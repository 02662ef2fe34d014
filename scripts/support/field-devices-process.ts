/** A process of field devices, so that a whole group of them can be frozen by the system. */
import { crc16 } from '../../src/field-module/field/modbus-rtu-frame.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import type { ModbusFaultSetting } from '../simulate/modbus-faults.ts';
import { type ModbusServer, serveModbusSerial, serveModbusTcp } from '../simulate/modbus-server.ts';
import { openPseudoTerminal } from '../simulate/pseudo-terminal.ts';
import {
  type FieldDevicesOrder,
  type FromFieldDevices,
  type Poll,
  type ToFieldDevices,
  truthfulUnits,
} from './field-devices.ts';

/** Between question and answer on a serial line: 8 bytes and some 30 at 19 200 baud, and a device that thinks. */
const SERIAL_ANSWER_MS = 20;
/** So few that a frozen device is out of reach after two attempts. */
const BACKLOG = 1;
const METER_OFFSET = 100;

const clock = createSystemClock();
const polls: Poll[] = [];
const servers: ModbusServer[] = [];
const silentUnits = new Set<number>();
let firstDevice = 0;
let endSerial = (): void => undefined;

async function start(order: FieldDevicesOrder): Promise<void> {
  firstDevice = order.first;
  if (order.serialPath === undefined) await serveTcp(order);
  else serveSerial(order, order.serialPath);
  tell({ kind: 'ready', ports: servers.map(({ port }) => port) });
}

const onPoll = (poll: Poll): void => void polls.push(poll);

async function serveTcp({ first, count }: FieldDevicesOrder): Promise<void> {
  for (let device = first; device < first + count; device += 1) {
    const units = truthfulUnits({ device, inverterUnit: 1, meterUnit: 2, clock, onPoll });
    const faults = { of: () => undefined };
    servers.push(
      await serveModbusTcp({ units, faults, clock, host: '127.0.0.1', port: 0, backlog: BACKLOG }),
    );
  }
}

function serveSerial({ first, count }: FieldDevicesOrder, path: string): void {
  const all = Array.from({ length: count }, (_, index) =>
    truthfulUnits({
      device: first + index,
      inverterUnit: index + 1,
      meterUnit: index + 1 + METER_OFFSET,
      clock,
      onPoll,
    }),
  );
  const units = {
    unitIds: all.flatMap(({ unitIds }) => unitIds),
    answer: (unitId: number, request: Buffer) =>
      silentUnits.has(unitId) ? undefined : all[(unitId % METER_OFFSET) - 1]?.answer(unitId, request),
  };
  const faults = { of: (): ModbusFaultSetting => ({ kind: 'slow', delayMs: SERIAL_ANSWER_MS }) };
  const { input, output, child } = openPseudoTerminal(path, (text) => {
    throw new Error(text);
  });
  serveModbusSerial({ units, faults, clock, input, output, crc16 });
  endSerial = () => void child.kill();
}

function tell(message: FromFieldDevices): void {
  process.send?.(message);
}

process.on('message', (message: ToFieldDevices) => {
  switch (message.kind) {
    case 'start':
      return void start(message.order);
    case 'fall silent':
      for (const server of servers) server.setFault('black-hole');
      for (const device of message.devices) {
        silentUnits.add(device - firstDevice + 1);
        silentUnits.add(device - firstDevice + 1 + METER_OFFSET);
      }
      return;
    case 'speak':
      for (const server of servers) server.setFault(undefined);
      return silentUnits.clear();
    case 'tell polls':
      return tell({ kind: 'polls', polls });
  }
});
process.on('disconnect', () => {
  endSerial();
  process.exit(0);
});
