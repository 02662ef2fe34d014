import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { ModbusAnswer } from '../../../src/field-module/field/modbus-fault.ts';
import { runs } from '../../support/runs.ts';
import { settle, TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
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
  /** Of each request in turn; undefined: it is forgotten. */
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
/** Of one form, so that each answer fits each request, and with pauses as long as the work. */
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
  await pass(1_000);
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

describe('Modbus TCP never believes a wrong value of a device that', () => {
  const devices = [
    ...Object.entries(LOSSY_LABELS).map((entry) => [...entry, WORK] as const),
    ...Object.entries(LABELS).map((entry) => [...entry, WHOLE_WORK] as const),
  ];
  for (const [name, label, work] of devices) {
    test(`answers with ${name}`, async () => {
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

describe('Modbus TCP, of a device that mixes up its ids', () => {
  test('believes nothing after an answer under the id of one that was given up and has another form', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    const label = LOSSY_LABELS['the id of the request after, when there is one'];
    assert.ok(label);
    behave(device, clock, { label, workMs: [450, 1, 1] });
    const asked = (start: number, count: number, pauseMs: number): Poll => ({
      unitId: 1,
      start,
      count,
      pauseMs,
    });
    const polls = [asked(0, 2, 0), asked(0, 1, 200), asked(0, 1, 0), asked(1, 1, 0)];
    const { wrong } = await poll(device, clock, [
      ...polls,
      ...Array.from({ length: 16 }, () => asked(0, 1, 0)),
    ]);
    assert.equal(wrong, 0);
  });

  const readOf = (start: number) => ({ kind: 'read_holdings', start, count: 1 }) as const;
  const [read, next] = [readOf(3), readOf(4)];
  const READS = [read, next, readOf(5)];

  test('asks what was under way again, one at a time, over another connection', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    const answers = READS.map((read) => device.client.request(1, read));
    await until(() => device.seen.length === 3);
    const [first, , last] = device.seen;
    if (!first || !last) return assert.fail();
    first.answer(answerTo(first), { transactionId: last.transactionId });
    for (let count = 4; count <= 6; count += 1) {
      await until(() => device.seen.length === count);
      await settle();
      assert.equal(device.seen.length, count);
      const request = device.seen[count - 1];
      request?.answer(answerTo(request));
    }
    const values = (await Promise.all(answers)).map((answer) => answer.ok && answer.values);
    assert.deepEqual(
      values,
      READS.map(({ start }) => [registerOf(1, start)]),
    );
    assert.equal(device.dials, 2);
    device.client.close();
  });

  test('does not send a write again, and says that its answer is none', async () => {
    const device = fakeDevice(new TestClock());
    const reads = READS.slice(0, 2).map((read) => device.client.request(1, read));
    const write = device.client.request(2, { kind: 'write_holding', start: 9, values: [1] });
    await until(() => device.seen.length === 3);
    device.onRequest = (request) => request.answer(answerTo(request));
    const [first, second] = device.seen;
    if (!first || !second) return assert.fail();
    first.answer(answerTo(first), { transactionId: second.transactionId });
    assert.deepEqual(await write, {
      ok: false,
      fault: { kind: 'invalid_response', reason: 'answers are mixed up' },
    });
    assert.deepEqual(
      (await Promise.all(reads)).map(({ ok }) => ok),
      [true, true],
    );
    assert.equal(device.seen.filter(({ pdu }) => pdu[0] === 6).length, 1);
    device.client.close();
  });

  test('asks no more than twice where the answer to a single request bears another id', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    device.onRequest = (request) =>
      request.answer(answerTo(request), { transactionId: request.transactionId + 1_000 });
    for (const read of READS) {
      const before = device.seen.length;
      const answer = await device.client.request(1, read);
      assert.deepEqual(answer, {
        ok: false,
        fault: { kind: 'invalid_response', reason: 'answers are mixed up' },
      });
      assert.equal(device.seen.length - before, 2);
    }
    device.client.close();
  });

  /** One whose unit 1 was asked once and has not answered in time. */
  async function deviceWithLostRead(): Promise<FakeDevice> {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    const lost = device.client.request(1, read, 100);
    await until(() => device.seen.length === 1);
    await clock.advance(100);
    assert.equal((await lost).ok, false);
    return device;
  }

  test('asks a read again, over another connection, whose answer may be the late one of the read before', async () => {
    const device = await deviceWithLostRead();
    const answer = device.client.request(1, next);
    await until(() => device.seen.length === 2);
    const [late, asked] = device.seen;
    if (!late || !asked) return assert.fail();
    late.answer(answerTo(late), { transactionId: asked.transactionId });
    await until(() => device.seen.length === 3);
    device.seen[2]?.answer(answerTo(device.seen[2]));
    assert.deepEqual(await answer, { ok: true, values: [registerOf(1, next.start)] });
    assert.equal(device.dials, 2);
    device.client.close();
  });

  test('waits for the answer to a write before it asks a doubted read over another connection', async () => {
    const device = await deviceWithLostRead();
    const answer = device.client.request(1, next);
    const write = device.client.request(2, { kind: 'write_holding', start: 9, values: [1] });
    await until(() => device.seen.length === 3);
    const [late, asked, written] = device.seen;
    if (!late || !asked || !written) return assert.fail();
    late.answer(answerTo(late), { transactionId: asked.transactionId });
    await settle();
    const later = device.client.request(3, next);
    await settle();
    assert.equal(device.seen.length, 3);
    written.answer(answerTo(written));
    assert.deepEqual(await write, { ok: true, values: [] });
    for (const index of [3, 4]) {
      await until(() => device.seen.length > index);
      const request = device.seen[index];
      request?.answer(answerTo(request));
    }
    assert.deepEqual(await answer, { ok: true, values: [registerOf(1, next.start)] });
    assert.deepEqual(await later, { ok: true, values: [registerOf(3, next.start)] });
    assert.equal(device.seen.filter(({ pdu }) => pdu[0] === 6).length, 1);
    assert.equal(device.dials, 2);
    device.client.close();
  });
});

test('Modbus TCP asks a device that keeps its ids no more than once, several requests at a time', async () => {
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

test('Modbus TCP dials a device that keeps its ids no more than once for each request that is lost or given up', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(POLLS, LIKE_POLLS), fc.nat({ max: 9 }), async (polls, lostIndex) => {
      const clock = new TestClock();
      const device = fakeDevice(clock);
      const label: Label = (index, seen) => seen[index]?.transactionId;
      const workMs = Array.from({ length: 10 }, (_, index) => (index === lostIndex ? undefined : 1));
      const counts = behave(device, clock, { label, workMs });
      const { answered, wrong } = await poll(device, clock, polls);
      assert.equal(wrong, 0);
      const missing = counts.lost + polls.length - answered;
      assert.ok(device.dials - 1 <= missing, `${device.dials} connections for ${missing}`);
    }),
    { numRuns: runs(40) },
  );
});
