/** Devices on Modbus TCP that break the rules, each with a unit that is off: what scripts get from the others. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import { encodeTcpFrame, type TcpFrame } from '../../../src/field-module/field/modbus-tcp-connection.ts';
import { settle, TestClock } from '../../support/test-clock.ts';
import { fakeDevice, type FakeDevice, type Seen } from './modbus-device.ts';

const SILENT_UNIT = 9;
const LIVING_UNITS = [1, 2, 3];
const TICKS = 80;
const TICK_MS = 1_000;
const STEP_MS = 20;

function registerOf(unitId: number, address: number): number {
  return (unitId * 10_007 + address * 13) % 65_536;
}

function answerTo({ unitId, pdu }: TcpFrame): Buffer {
  if (pdu[0] !== 3) return pdu;
  const value = registerOf(unitId, pdu.readUInt16BE(1));
  return Buffer.of(3, 2, value >> 8, value & 0xff);
}

interface Parts {
  device: FakeDevice;
  clock: TestClock;
}

/** What a device does with the request of this number, counted from 1, to a living unit. */
type Behaviour = (request: Seen, number: number, parts: Parts) => void;

const answer = (request: Seen): void => request.answer(answerTo(request));
const write = (request: Seen, bytes: Buffer): void => {
  if (request.stream.writable) request.stream.write(bytes);
};
const frameOf = (request: Seen, change: Partial<TcpFrame> = {}): Buffer =>
  encodeTcpFrame({ ...request, pdu: answerTo(request), ...change });

function withLength(frame: Buffer, length: number | undefined): Buffer {
  if (length !== undefined) frame.writeUInt16BE(length, 4);
  return frame;
}

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  'sends its answers byte by byte with pauses': (request, _, { clock }) => {
    for (const [index, byte] of frameOf(request).entries())
      clock.setTimer(index * 10, () => write(request, Buffer.of(byte)));
  },
  'sends the answer to the request before, once more, in front of each answer': (
    request,
    number,
    { device },
  ) => {
    const before = device.seen.at(-2);
    if (number > 1 && before) write(request, frameOf(before));
    answer(request);
  },
  'sends frames that nobody asked for between the answers': (request, _, { clock }) => {
    answer(request);
    clock.setTimer(200, () => write(request, frameOf(request, { transactionId: 0 })));
    clock.setTimer(400, () => write(request, frameOf(request)));
  },
  'sends two registers where one was asked for, at every thirtieth request': (request, number) =>
    number % 30 === 0 ? request.answer('03 04 0001 0002') : answer(request),
  'says another length than it sends, at every thirtieth request': (request, number) =>
    number % 30 === 0 ? request.answer('03 04 0001') : answer(request),
  'answers with the function of another table, at every thirtieth request': (request, number) =>
    number % 30 === 0 ? request.answer('04 02 0001') : answer(request),
  'acknowledges a write by exception 5 and confirms it later': (request, _, { clock }) => {
    if (request.pdu[0] === 3) return answer(request);
    request.answer('86 05');
    clock.setTimer(300, () => write(request, frameOf(request)));
  },
  'is busy at every thirtieth request': (request, number) =>
    number % 30 === 0 ? request.answer(Buffer.of((request.pdu[0] ?? 0) | 0x80, 6)) : answer(request),
  'closes the connection in the middle of every thirtieth answer': (request, number) => {
    if (number % 30 !== 0) return answer(request);
    request.stream.end(frameOf(request).subarray(0, 8));
  },
  'closes the connection after each silence of 100 ms': (request, _, { device, clock }) => {
    answer(request);
    clock.setTimer(100, () => {
      if (device.seen.at(-1) === request) request.stream.end();
    });
  },
  'sends an answer that came too late over the next connection': (request, number, { device, clock }) => {
    if (number % 30 !== 0) return answer(request);
    clock.setTimer(700, () => device.streams.at(-1)?.write(frameOf(request)));
  },
  'answers for another unit, at every thirtieth request': (request, number) =>
    request.answer(answerTo(request), number % 30 === 0 ? { unitId: (request.unitId % 3) + 1 } : {}),
  'refuses another function than it was asked for, at every thirtieth request': (request, number) =>
    number % 30 === 0 ? request.answer('84 02') : answer(request),
  'repeats the request in front of its answer, at every thirtieth request': (request, number) => {
    const echo = number % 30 === 0 ? encodeTcpFrame(request) : Buffer.alloc(0);
    write(request, Buffer.concat([echo, frameOf(request)]));
  },
  'sends every answer twice in one segment': (request) =>
    write(request, Buffer.concat([frameOf(request), frameOf(request)])),
  'announces more bytes than it sends, at every thirtieth request': (request, number) =>
    write(request, withLength(frameOf(request), number % 30 === 0 ? 254 : undefined)),
  'announces fewer bytes than it sends, at every thirtieth request': (request, number) =>
    write(request, withLength(frameOf(request), number % 30 === 0 ? 3 : undefined)),
  'says that it cannot reach a living unit, at every thirtieth request': (request, number) =>
    number % 30 === 0 ? request.answer(Buffer.of((request.pdu[0] ?? 0) | 0x80, 10)) : answer(request),
  'is busy for ever with writes': (request) =>
    request.pdu[0] === 6 ? request.answer('86 06') : answer(request),
  'closes the connection without an answer, at every thirtieth request': (request, number) =>
    number % 30 === 0 ? void request.stream.destroy() : answer(request),
  ...Object.fromEntries(
    [0, 50, 500].map((afterMs): [string, Behaviour] => [
      `closes the connection ${afterMs} ms after each answer`,
      (request, _, { clock }) => {
        answer(request);
        clock.setTimer(afterMs, () => request.stream.end());
      },
    ]),
  ),
  'breaks the header of every thirtieth answer': (request, number) => {
    const frame = frameOf(request);
    if (number % 30 === 0) frame.writeUInt16BE(7, 2);
    write(request, frame);
  },
};

/** Polls every unit once a second, and writes every fourth second. */
async function play(behave: Behaviour) {
  const clock = new TestClock();
  const device = fakeDevice(clock);
  let number = 0;
  device.onRequest = (request) => {
    if (request.unitId !== SILENT_UNIT) behave(request, (number += 1), { device, clock });
  };
  const counts = { due: 0, read: 0, wrong: 0 };
  const busy = new Set<number>();
  const poll = async (unitId: number, start: number): Promise<void> => {
    if (unitId !== SILENT_UNIT) counts.due += 1;
    // A scheduled function that still runs skips its turn.
    if (busy.has(unitId)) return;
    busy.add(unitId);
    const request = { kind: 'read_holdings', start, count: 1 } as const;
    const given = await device.client.request(unitId, request, 500, { owner: unitId });
    busy.delete(unitId);
    if (!given.ok) return;
    counts[given.values[0] === registerOf(unitId, start) && given.values.length === 1 ? 'read' : 'wrong'] +=
      1;
  };
  for (let tick = 0; tick < TICKS; tick += 1) {
    for (const unitId of [SILENT_UNIT, ...LIVING_UNITS]) void poll(unitId, tick);
    if (tick % 4 === 0) {
      const request = { kind: 'write_holding', start: 5_000, values: [tick] } as const;
      void device.client.request(1, request, 500, { owner: 'writer' });
    }
    for (let passedMs = 0; passedMs < TICK_MS; passedMs += STEP_MS) {
      for (let turn = 0; turn < 3; turn += 1) await settle();
      await clock.advance(STEP_MS);
    }
  }
  device.client.close();
  const written = device.seen.flatMap(({ pdu }) => (pdu[0] === 6 ? [pdu.readUInt16BE(3)] : []));
  return { ...counts, written };
}

describe('A device on Modbus TCP gives no wrong value, gets no write twice and is read while one unit is off', () => {
  for (const [name, behave] of Object.entries(BEHAVIOURS))
    test(`A device on Modbus TCP gives no wrong value, gets no write twice and is read while one unit is off when it ${name}`, async () => {
      const { due, read, wrong, written } = await play(behave);
      assert.equal(wrong, 0);
      assert.equal(new Set(written).size, written.length, `written: ${written.join(' ')}`);
      assert.ok(read >= 0.95 * due, `${read} of ${due} reads`);
    });
});
