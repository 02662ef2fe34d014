import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { ModbusAnswer } from '../../../src/field-module/field/modbus-fault.ts';
import type { ModbusRequest } from '../../../src/field-module/field/modbus-pdu.ts';
import { settle, TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { runs } from '../../support/runs.ts';
import { fakeDevice, type FakeDevice } from './modbus-device.ts';

const READ: ModbusRequest = { kind: 'read_holdings', start: 0, count: 1 };
const WRITE: ModbusRequest = { kind: 'write_holding', start: 9, values: [1] };
const ONE = '03 02 0001';
const FIELD = LIMITS.field;

function faultOf(answer: ModbusAnswer): unknown {
  return answer.ok ? 'no fault' : answer.fault;
}

/** Answers with the start address as the value of one register. */
function echoStart(device: FakeDevice): void {
  device.onRequest = (request) =>
    request.answer(Buffer.concat([Buffer.of(3, 2), request.pdu.subarray(1, 3)]));
}

async function arrived(device: FakeDevice, count: number): Promise<void> {
  await until(() => device.seen.length >= count);
}

/** Five units at three reads a second for two minutes, behind a gateway with one line; unit 7 is off. */
async function gatewayWithDeadUnit(gatewayMs: number, timeoutMs: number) {
  const clock = new TestClock();
  const device = fakeDevice(clock);
  let freeAtMs = 0;
  device.onRequest = (request) => {
    const isOff = request.unitId === 7;
    freeAtMs = Math.max(freeAtMs, clock.monotonicMs()) + (isOff ? gatewayMs : 15);
    clock.setTimer(freeAtMs - clock.monotonicMs(), () => {
      if (request.stream.writable) request.answer(isOff ? '83 0b' : ONE);
    });
  };
  const counts = { lost: 0, answered: 0 };
  const busy = new Set<number>();
  const poll = async (unitId: number): Promise<void> => {
    // A scheduled function that still runs skips its turn.
    if (busy.has(unitId)) return;
    busy.add(unitId);
    const { ok } = await device.client.request(unitId, READ, timeoutMs, { owner: unitId });
    busy.delete(unitId);
    if (unitId !== 7) counts[ok ? 'answered' : 'lost'] += 1;
  };
  for (let tick = 0; tick < 360; tick += 1) {
    for (const unitId of [3, 4, 5, 6, 7]) void poll(unitId);
    for (let passedMs = 0; passedMs < 333; passedMs += 9) {
      for (let turn = 0; turn < 4; turn += 1) await settle();
      await clock.advance(9);
    }
  }
  device.client.close();
  return counts;
}

describe('Modbus TCP refuses or fails', () => {
  test('Modbus TCP refuses a wrong request without a connection', async () => {
    const device = fakeDevice(new TestClock());
    const answer = await device.client.request(1, { kind: 'read_holdings', start: 0, count: 200 });
    assert.deepEqual(faultOf(answer), {
      kind: 'invalid_argument',
      reason: 'the count must be from 1 to 125',
    });
    assert.equal(device.dials, 0);
  });

  test('Modbus TCP refuses more requests than may wait', async () => {
    const device = fakeDevice(new TestClock(), { queuedRequests: 2 });
    device.reach = 'black_hole';
    void device.client.request(1, READ);
    void device.client.request(1, READ);
    assert.deepEqual(faultOf(await device.client.request(1, READ)), { kind: 'overloaded' });
    device.client.close();
  });

  test('Modbus TCP fails each request at its own time limit, counted from when it was sent', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    const ended: string[] = [];
    void device.client.request(1, READ, 300).then(() => ended.push('first'));
    void device.client.request(1, READ, 300).then(() => ended.push('second'));
    await arrived(device, 1);
    await clock.advance(299);
    assert.deepEqual(ended, []);
    await clock.advance(1);
    assert.deepEqual(ended, ['first']);
    await arrived(device, 2);
    await clock.advance(299);
    assert.deepEqual(ended, ['first']);
    await clock.advance(1);
    assert.deepEqual(ended, ['first', 'second']);
    device.client.close();
  });

  test('Modbus TCP fails waiting requests to a unit that is off together with the last one sent', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    const batch = Promise.all(Array.from({ length: 20 }, () => device.client.request(1, READ, 300)));
    for (let count = 1; count <= FIELD.silentRequests; count += 1) {
      await arrived(device, count);
      await clock.advance(300);
    }
    assert.deepEqual(new Set((await batch).map((answer) => JSON.stringify(faultOf(answer)))).size, 1);
    assert.equal(device.seen.length, FIELD.silentRequests);
    device.client.close();
  });

  test('Modbus TCP does not send a request whose caller has left before its turn', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    const first = device.client.request(1, READ);
    const second = device.client.request(1, { kind: 'write_holding', start: 0, values: [1] }, 500, {
      isWanted: () => false,
    });
    const third = device.client.request(1, READ);
    await arrived(device, 1);
    device.seen[0]?.answer(ONE);
    assert.equal((await first).ok, true);
    await arrived(device, 2);
    device.seen[1]?.answer(ONE);
    assert.equal((await third).ok, true);
    assert.deepEqual(faultOf(await second), { kind: 'timeout' });
    assert.deepEqual(
      device.seen.map(({ pdu }) => pdu[0]),
      [3, 3],
    );
    device.client.close();
  });

  test('Modbus TCP refuses or fails never later than the longest time limit', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    const answer = device.client.request(1, READ, 3_600_000);
    await arrived(device, 1);
    await clock.advance(FIELD.requestMsMax);
    assert.deepEqual(faultOf(await answer), { kind: 'timeout' });
  });

  test('Modbus TCP refuses or fails at once while it pauses after a refused connection, with the reason; pauses grow to their maximum', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    device.reach = 'refused';
    const refused = { kind: 'connection_failed', reason: 'connection refused' };
    const attemptsAtMs: number[] = [];
    for (let atMs = 0; atMs < 40_000; atMs += 50) {
      const before = device.dials;
      assert.deepEqual(faultOf(await device.client.request(1, READ)), refused);
      if (device.dials > before) attemptsAtMs.push(atMs);
      await clock.advance(50);
    }
    const pausesMs = attemptsAtMs.slice(1).map((atMs, index) => atMs - (attemptsAtMs[index] ?? 0));
    assert.deepEqual(pausesMs, [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  });

  test('Modbus TCP refuses or fails after an attempt to connect that nobody answers', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    device.reach = 'black_hole';
    const answer = device.client.request(1, READ, 30_000);
    await clock.advance(FIELD.connectMs);
    assert.deepEqual(faultOf(await answer), { kind: 'connection_failed', reason: 'no answer' });
  });

  test('Modbus TCP fails a read after its second connection when the device hangs up at each, and a write after the first', async () => {
    for (const [request, times] of [
      [READ, 2],
      [WRITE, 1],
      [{ kind: 'mask_write_holding', start: 9, andMask: 0, orMask: 1 }, 1],
      [{ kind: 'read_write_holdings', start: 0, count: 1, writeStart: 9, values: [1] }, 1],
    ] as const) {
      const device = fakeDevice(new TestClock());
      device.onRequest = ({ stream }) => stream.destroy();
      const answer = await device.client.request(1, request);
      assert.deepEqual(faultOf(answer), { kind: 'connection_failed', reason: 'closed by the device' });
      await settle();
      assert.equal(device.seen.length, times);
    }
  });

  test('Modbus TCP fails a read without a second try when the device hangs up within its answer', async () => {
    const device = fakeDevice(new TestClock());
    device.onRequest = ({ stream }) => stream.end(Buffer.of(0, 1, 0));
    assert.equal((await device.client.request(1, READ)).ok, false);
    assert.equal(device.seen.length, 1);
  });

  test('Modbus TCP fails what a device answers in another protocol, and begins again', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    const answer = device.client.request(1, READ);
    await arrived(device, 1);
    device.streams[0]?.write('220 smtp ready\r\n');
    const fault = faultOf(await answer) as { kind: string };
    assert.equal(fault.kind, 'invalid_response');
    await clock.advance(FIELD.reconnectFirstMs);
    echoStart(device);
    assert.deepEqual(await device.client.request(1, READ), { ok: true, values: [0] });
    assert.equal(device.dials, 2);
    device.client.close();
  });

  test('Modbus TCP fails on an answer of another unit, and names that unit', async () => {
    const device = fakeDevice(new TestClock());
    device.onRequest = (request) => request.answer(ONE, { unitId: 255 });
    assert.deepEqual(faultOf(await device.client.request(1, READ)), {
      kind: 'invalid_response',
      reason: 'answers as unit 255: use unit 255, or allow other ids (?ids=loose)',
      hasOtherIds: true,
    });
    device.client.close();
  });

  test('Modbus TCP fails on an answer under another transaction id at the time limit, with the reason', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    device.onRequest = (request) => request.answer(ONE, { transactionId: 0 });
    const answer = device.client.request(1, READ);
    await arrived(device, 1);
    await settle();
    await clock.advance(FIELD.requestMs);
    assert.deepEqual(faultOf(await answer), {
      kind: 'invalid_response',
      reason: 'answers with another transaction id: allow other ids (?ids=loose)',
      hasOtherIds: true,
    });
    device.client.close();
  });
});

describe('Modbus TCP', () => {
  test('Modbus TCP gives values and exceptions over one connection that it opens when first used', async () => {
    const device = fakeDevice(new TestClock());
    device.onRequest = (request) => request.answer(request.unitId === 1 ? ONE : '83 02');
    assert.equal(device.dials, 0);
    assert.deepEqual(await device.client.request(1, READ), { ok: true, values: [1] });
    const refused = await device.client.request(2, READ);
    assert.deepEqual(faultOf(refused), { kind: 'exception', exceptionCode: 2 });
    assert.equal(device.dials, 1);
    device.client.close();
  });

  test('Modbus TCP has one request in flight, and sends the next when it is answered', async () => {
    const device = fakeDevice(new TestClock());
    const answers = [7, 8, 9].map((unitId) => device.client.request(unitId, READ));
    for (let count = 1; count <= 3; count += 1) {
      await arrived(device, count);
      await settle();
      assert.equal(device.seen.length, count);
      device.seen[count - 1]?.answer(ONE);
    }
    assert.ok((await Promise.all(answers)).every(({ ok }) => ok));
    assert.equal(device.dials, 1);
    device.client.close();
  });

  test('Modbus TCP gives turns to scripts one after the other, then to units, whoever came with more requests first', async () => {
    const device = fakeDevice(new TestClock());
    device.onRequest = (request) => request.answer(ONE);
    const ask = (owner: string, unitId: number, start: number) =>
      device.client.request(unitId, { kind: 'read_holdings', start, count: 1 }, 1_000, { owner });
    const many = [1, 2, 3].map((start) => ask('one', 1, start));
    const others = [ask('one', 2, 4), ask('two', 1, 5), ask('two', 1, 6)];
    await Promise.all([...many, ...others]);
    const starts = device.seen.map(({ pdu }) => pdu.readUInt16BE(1));
    assert.deepEqual(starts, [1, 5, 4, 6, 2, 3]);
    device.client.close();
  });

  test('Modbus TCP closes the connection after a timeout, so that a late answer reaches nobody', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    const late = device.client.request(1, READ, 100);
    await arrived(device, 1);
    await clock.advance(100);
    assert.deepEqual(faultOf(await late), { kind: 'timeout' });
    await until(() => device.streams[0]?.destroyed === true);
    const next = device.client.request(1, READ, 100);
    await arrived(device, 2);
    device.seen[1]?.answer(ONE);
    assert.deepEqual(await next, { ok: true, values: [1] });
    assert.equal(device.dials, 2);
    device.client.close();
  });

  test('Modbus TCP drops a second answer and takes that of the request in flight', async () => {
    const device = fakeDevice(new TestClock());
    device.onRequest = (request) => {
      const value = request.pdu.subarray(1, 3);
      for (let times = 0; times < 2; times += 1) request.answer(Buffer.concat([Buffer.of(3, 2), value]));
    };
    for (const start of [3, 4, 5]) {
      const answer = await device.client.request(1, { kind: 'read_holdings', start, count: 1 });
      assert.deepEqual(answer, { ok: true, values: [start] });
    }
    assert.equal(device.dials, 1);
    device.client.close();
  });

  test('Modbus TCP takes fixed unit ids and a constant transaction id where other ids are allowed', async () => {
    for (const change of [{ unitId: 255 }, { transactionId: 0 }, { unitId: 0, transactionId: 1 }]) {
      const device = fakeDevice(new TestClock());
      device.onRequest = (request) => request.answer(ONE, change);
      for (let times = 0; times < 3; times += 1)
        assert.deepEqual(await device.client.request(7, READ, 1_000, { isLoose: true }), {
          ok: true,
          values: [1],
        });
      device.client.close();
    }
  });

  test('Modbus TCP keeps to transaction ids with other ids allowed, once an answer had that of its request', async () => {
    const device = fakeDevice(new TestClock());
    device.onRequest = (request) => {
      const value = Buffer.concat([Buffer.of(3, 2), request.pdu.subarray(1, 3)]);
      request.answer(value, { unitId: 255 });
      request.answer(value, { unitId: 255 });
    };
    for (const start of [3, 4, 5]) {
      const read = { kind: 'read_holdings', start, count: 1 } as const;
      assert.deepEqual(await device.client.request(1, read, 1_000, { isLoose: true }), {
        ok: true,
        values: [start],
      });
    }
    device.client.close();
  });

  test('Modbus TCP opens as many connections as an address allows, and goes on with fewer when the device refuses more', async () => {
    const device = fakeDevice(new TestClock());
    const ask = () => device.client.request(1, READ, 1_000, { connections: 3 });
    const answers: Promise<ModbusAnswer>[] = Array.from({ length: 6 }, ask);
    await arrived(device, 3);
    await settle();
    assert.deepEqual([device.dials, device.seen.length], [3, 3]);
    device.onRequest = (request) => request.answer(ONE);
    for (const request of device.seen.slice()) request.answer(ONE);
    assert.ok((await Promise.all(answers)).every(({ ok }) => ok));
    device.streams[0]?.destroy();
    await settle();
    device.reach = 'refused';
    assert.ok((await Promise.all(Array.from({ length: 6 }, ask))).every(({ ok }) => ok));
    device.client.close();
  });

  test('Modbus TCP keeps reading the living units behind a gateway while one is off and reported after a second', async () => {
    const { lost, answered } = await gatewayWithDeadUnit(1_000, 1_000);
    assert.equal(lost, 0);
    assert.ok(answered >= 0.95 * 4 * 3 * 120, `${answered} reads`);
  });

  test('Modbus TCP loses at most every twentieth read of living units while a gateway waits longer than the scripts', async () => {
    const { lost, answered } = await gatewayWithDeadUnit(3_000, 1_000);
    assert.ok(lost <= 0.05 * answered, `${lost} lost, ${answered} answered`);
  });

  test('Modbus TCP finds a device that comes back within 30 s of any absence', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock, { connectMs: 1_000 });
    echoStart(device);
    for (const absence of ['refused', 'black_hole'] as const) {
      device.client.close();
      device.reach = absence;
      const poll = async (): Promise<boolean> => {
        const answer = device.client.request(1, READ);
        // The way there and back takes a few turns of the event loop.
        for (let turn = 0; turn < 8; turn += 1) await settle();
        await clock.advance(1_000);
        return (await answer).ok;
      };
      for (let second = 0; second < 120; second += 1) assert.equal(await poll(), false);
      device.reach = 'open';
      let seconds = 0;
      while (seconds < 60 && !(await poll())) seconds += 1;
      assert.ok(seconds < 30, `${absence}: ${seconds} s`);
    }
    device.client.close();
  });

  test('Modbus TCP closes the connection when it is unused, and opens it again', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    echoStart(device);
    await device.client.request(1, READ);
    await clock.advance(FIELD.idleMs);
    await until(() => device.streams[0]?.destroyed === true);
    assert.equal((await device.client.request(1, READ)).ok, true);
    assert.equal(device.dials, 2);
    device.client.close();
    assert.equal(clock.waiting, 0);
  });

  test('loses no read of a device that closes the connection after each answer, at once or 100 ms later', async () => {
    for (const closesAfterMs of [0, 100]) {
      const clock = new TestClock();
      const device = fakeDevice(clock);
      device.onRequest = (request) => {
        if (request.stream.writableEnded) return;
        request.answer(ONE);
        if (closesAfterMs === 0) request.stream.end();
        else clock.setTimer(closesAfterMs, () => request.stream.end());
      };
      let failures = 0;
      for (let count = 0; count < 60; count += 1) {
        const answer = device.client.request(1, READ);
        for (let turn = 0; turn < 12; turn += 1) await settle();
        await clock.advance([0, 30, 90, 110, 300][count % 5] ?? 0);
        if (!(await answer).ok) failures += 1;
      }
      assert.equal(failures, 0, `after ${closesAfterMs} ms`);
      device.client.close();
    }
  });

  test('Modbus TCP sends a write over a connection of its own where the device hangs up after each answer', async () => {
    const device = fakeDevice(new TestClock());
    device.onRequest = (request) => {
      request.answer(request.pdu[0] === 3 ? ONE : request.pdu);
      request.stream.end();
    };
    assert.equal((await device.client.request(1, READ)).ok, true);
    await until(() => device.streams[0]?.destroyed === true);
    for (let times = 0; times < 3; times += 1) {
      const requests = [READ, WRITE].map((request) => device.client.request(1, request));
      const outcomes: ModbusAnswer[] = await Promise.all(requests);
      assert.ok(outcomes.every((outcome) => outcome.ok));
    }
    assert.equal(device.seen.filter(({ pdu }) => pdu[0] === 6).length, 3);
    device.client.close();
  });

  test('Modbus TCP survives any bytes: every request ends, and the next device is read', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }), async (chunks) => {
        const clock = new TestClock();
        const device = fakeDevice(clock);
        const answers = [1, 2].map((unitId) => device.client.request(unitId, READ));
        await settle();
        await settle();
        for (const chunk of chunks) device.streams[0]?.write(Buffer.from(chunk));
        await settle();
        for (let times = 0; times < 2 * answers.length; times += 1) {
          await clock.advance(FIELD.requestMs);
          for (let turn = 0; turn < 4; turn += 1) await settle();
        }
        await Promise.all(answers);
        device.client.close();
        echoStart(device);
        const again = device.client.request(1, READ);
        assert.equal((await again).ok, true);
        device.client.close();
        assert.equal(clock.waiting, 0);
      }),
      { numRuns: runs(60) },
    );
  });
});
