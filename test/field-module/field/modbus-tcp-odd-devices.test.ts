import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { ModbusAnswer } from '../../../src/field-module/field/modbus-fault.ts';
import { runs } from '../../support/runs.ts';
import { settle, TestClock } from '../../support/test-clock.ts';
import { fakeDevice, type FakeDevice, type Seen } from './modbus-device.ts';

/** What a register of a unit holds. */
function registerOf(unitId: number, address: number): number {
  return (unitId * 1_009 + address * 17) % 65_536;
}

function answerTo(request: Seen): Buffer {
  const [functionCode = 0] = request.pdu;
  if (functionCode === 6) return request.pdu;
  const start = request.pdu.readUInt16BE(1);
  const count = request.pdu.readUInt16BE(3);
  const data = Buffer.alloc(count * 2);
  for (let index = 0; index < count; index += 1)
    data.writeUInt16BE(registerOf(request.unitId, start + index), index * 2);
  return Buffer.concat([Buffer.of(functionCode, data.length), data]);
}

/** How a device labels the answer to the request at `index` when `seen` have arrived on its connection. */
type Label = (index: number, seen: readonly Seen[]) => number | undefined;

/** Those that lose requests. */
const LOSSY_LABELS: Readonly<Record<string, Label>> = {
  'the right id': (index, seen) => seen[index]?.transactionId,
  'the id of the request that came last': (_, seen) => seen.at(-1)?.transactionId,
  'the id of the request after, when there is one': (index, seen) =>
    (seen[index + 1] ?? seen[index])?.transactionId,
};
/** Those that answer everything. */
const LABELS: Readonly<Record<string, Label>> = {
  'the id of the request before': (index, seen) => seen[index - 1]?.transactionId,
  'ids of pairs swapped': (index, seen) => (seen[index ^ 1] ?? seen[index])?.transactionId,
};

interface Oddity {
  label: Label;
  /** Delay of each request in turn; undefined: it is lost. */
  workMs: readonly (number | undefined)[];
  isTwice?: boolean;
  isBusyFirst?: boolean;
  pieceBytes?: number;
}

/** Works on one request after the other, on each connection; returns how many were forgotten. */
function behave(device: FakeDevice, clock: TestClock, oddity: Oddity): { lost: number } {
  const seenOn = new Map<Seen['stream'], Seen[]>();
  let count = 0;
  const counts = { lost: 0 };
  const write = (request: Seen, pdu: Buffer, transactionId: number): void => {
    const { pieceBytes } = oddity;
    const frame = Buffer.concat([Buffer.alloc(6), Buffer.of(request.unitId), pdu]);
    frame.writeUInt16BE(transactionId, 0);
    frame.writeUInt16BE(pdu.length + 1, 4);
    for (let at = 0; at < frame.length; at += pieceBytes ?? frame.length)
      if (request.stream.writable)
        request.stream.write(frame.subarray(at, at + (pieceBytes ?? frame.length)));
  };
  const work = (seen: Seen[], index: number): void => {
    const request = seen[index];
    if (request === undefined || request.stream.destroyed) return;
    const workMs = oddity.workMs[count % oddity.workMs.length];
    count += 1;
    if (workMs === undefined) counts.lost += 1;
    clock.setTimer(workMs ?? 1, () => {
      const id = oddity.label(index, seen) ?? 0;
      if (workMs !== undefined) {
        if (oddity.isBusyFirst === true) write(request, Buffer.of((request.pdu[0] ?? 0) | 0x80, 5), id);
        write(request, answerTo(request), id);
        if (oddity.isTwice === true) write(request, answerTo(request), id);
      }
      done.set(seen, index + 1);
      work(seen, index + 1);
    });
  };
  const done = new Map<Seen[], number>();
  device.onRequest = (request) => {
    const seen = seenOn.get(request.stream) ?? [];
    seenOn.set(request.stream, seen);
    seen.push(request);
    if ((done.get(seen) ?? 0) === seen.length - 1) work(seen, seen.length - 1);
  };
  return counts;
}

interface Poll {
  unitId: number;
  start: number;
  count: number;
  pauseMs: number;
}

const START = fc.nat({ max: 40 });
const POLLS = fc.array(
  fc.record({
    unitId: fc.constantFrom(1, 1, 2),
    start: START,
    count: fc.integer({ min: 1, max: 2 }),
    pauseMs: fc.constantFrom(0, 0, 0, 20, 200),
  }),
  { minLength: 20, maxLength: 20 },
);
/** Requests of one form, so that each answer fits each of them, and with pauses as long as the work. */
const LIKE_POLLS = fc.array(
  fc.record({
    unitId: fc.constant(1),
    start: START,
    count: fc.constant(1),
    pauseMs: fc.constantFrom(0, 0, 20, 60, 110, 200, 310),
  }),
  { minLength: 10, maxLength: 10 },
);
/** Some take longer than anybody waits, and some requests are forgotten. */
const WORK = fc.array(fc.constantFrom(1, 15, 60, 60, 150, 450, undefined), { minLength: 1, maxLength: 20 });
const WHOLE_WORK = fc.array(fc.constantFrom(1, 15, 60, 60, 150, 450), { minLength: 1, maxLength: 20 });

/** How many were answered, and how many of these with something else than what the registers hold. */
async function poll(device: FakeDevice, clock: TestClock, polls: readonly Poll[]) {
  const answers: { poll: Poll; answer: Promise<ModbusAnswer> }[] = [];
  const pass = async (durationMs: number): Promise<void> => {
    for (let passedMs = 0; passedMs < durationMs; passedMs += 10) {
      await settle();
      await clock.advance(10);
    }
  };
  for (const one of polls) {
    const { unitId, start, count } = one;
    const answer = device.client.request(unitId, { kind: 'read_holdings', start, count }, 400);
    answers.push({ poll: one, answer });
    await pass(one.pauseMs);
  }
  // One after the other, each until its time limit at worst.
  await pass(polls.length * 410);
  let answered = 0;
  let wrong = 0;
  for (const { poll: asked, answer } of answers) {
    const given = await answer;
    if (!given.ok) continue;
    answered += 1;
    const held = given.values.map((_, index) => registerOf(asked.unitId, asked.start + index));
    if (given.values.length !== asked.count || held.some((value, index) => value !== given.values[index]))
      wrong += 1;
  }
  device.client.close();
  return { answered, wrong };
}

describe('Modbus TCP takes no wrong value', () => {
  const devices = [
    ...Object.entries(LOSSY_LABELS).map((entry) => [...entry, WORK] as const),
    ...Object.entries(LABELS).map((entry) => [...entry, WHOLE_WORK] as const),
  ];
  for (const [name, label, work] of devices) {
    test(`Modbus TCP takes no wrong value when a device answers with ${name}`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(POLLS, LIKE_POLLS),
          work,
          fc.boolean(),
          fc.boolean(),
          fc.constantFrom(undefined, 1, 5),
          async (polls, workMs, isTwice, isBusyFirst, pieceBytes) => {
            const clock = new TestClock();
            const device = fakeDevice(clock);
            behave(device, clock, { label, workMs, isTwice, isBusyFirst, ...(pieceBytes && { pieceBytes }) });
            assert.equal((await poll(device, clock, polls)).wrong, 0);
          },
        ),
        { numRuns: runs(100) },
      );
    });
  }
});

test('Modbus TCP asks a device that keeps its ids no more than once for each request, over one connection', async () => {
  await fc.assert(
    fc.asyncProperty(POLLS, fc.constantFrom(undefined, 5), async (polls, pieceBytes) => {
      const clock = new TestClock();
      const device = fakeDevice(clock);
      const label: Label = (index, seen) => seen[index]?.transactionId;
      behave(device, clock, { label, workMs: [1, 15, 3], ...(pieceBytes && { pieceBytes }) });
      const { answered, wrong } = await poll(device, clock, polls);
      assert.deepEqual({ answered, wrong, asked: device.seen.length }, { answered: 20, wrong: 0, asked: 20 });
      assert.equal(device.dials, 1);
    }),
    { numRuns: runs(40) },
  );
});
