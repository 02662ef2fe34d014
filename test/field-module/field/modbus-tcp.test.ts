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

describe('Modbus TCP refuses or fails', () => {
  test('a wrong request without a connection', async () => {
    const device = fakeDevice(new TestClock());
    const answer = await device.client.request(1, { kind: 'read_holdings', start: 0, count: 200 });
    assert.deepEqual(faultOf(answer), {
      kind: 'invalid_argument',
      reason: 'the count must be from 1 to 125',
    });
    assert.equal(device.dials, 0);
  });

  test('more requests than may wait', async () => {
    const device = fakeDevice(new TestClock(), { queuedRequests: 2 });
    device.reach = 'black_hole';
    void device.client.request(1, READ);
    void device.client.request(1, READ);
    assert.deepEqual(faultOf(await device.client.request(1, READ)), { kind: 'overloaded' });
    device.client.close();
  });

  test('at the time limit of each request, counted from the call', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    device.reach = 'black_hole';
    const ended: string[] = [];
    void device.client.request(1, READ, 300).then(() => ended.push('300'));
    void device.client.request(1, READ).then(() => ended.push('default'));
    await clock.advance(299);
    assert.deepEqual(ended, []);
    await clock.advance(1);
    assert.deepEqual(ended, ['300']);
    await clock.advance(FIELD.requestMs - 300);
    assert.deepEqual(ended, ['300', 'default']);
    device.client.close();
    await settle();
    assert.equal(clock.waiting, 0);
  });

  test('unsent when nobody waits for it any more in its turn', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock, { requestsAtOncePerUnit: 1 });
    const first = device.client.request(1, READ);
    const second = device.client.request(
      1,
      { kind: 'write_holding', start: 0, values: [1] },
      500,
      () => false,
    );
    const third = device.client.request(1, READ);
    await arrived(device, 1);
    device.seen[0]?.answer(ONE);
    assert.equal((await first).ok, true);
    await arrived(device, 2);
    device.seen[1]?.answer(ONE);
    assert.equal((await third).ok, true);
    await clock.advance(500);
    assert.deepEqual(faultOf(await second), { kind: 'timeout' });
    assert.deepEqual(
      device.seen.map(({ pdu }) => pdu[0]),
      [3, 3],
    );
    device.client.close();
  });

  test('never later than the longest time limit', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    const answer = device.client.request(1, READ, 3_600_000);
    await arrived(device, 1);
    await clock.advance(FIELD.requestMsMax);
    assert.deepEqual(faultOf(await answer), { kind: 'timeout' });
  });

  test('at once while it pauses after a refused connection, with the reason; pauses grow to their maximum', async () => {
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

  test('after an attempt to connect that nobody answers', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    device.reach = 'black_hole';
    const answer = device.client.request(1, READ, 30_000);
    await clock.advance(FIELD.connectMs);
    assert.deepEqual(faultOf(await answer), { kind: 'connection_failed', reason: 'no answer' });
  });

  test('requests in flight when the device hangs up, and sends none of them again', async () => {
    const device = fakeDevice(new TestClock());
    const answer = device.client.request(1, READ);
    await arrived(device, 1);
    device.streams[0]?.destroy();
    assert.deepEqual(faultOf(await answer), { kind: 'connection_failed', reason: 'closed by the device' });
    await settle();
    assert.equal(device.seen.length, 1);
  });

  test('what a device says in another language, and begins again', async () => {
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

  test('an answer of another unit', async () => {
    const device = fakeDevice(new TestClock());
    device.onRequest = (request) => request.answer(ONE, { unitId: 9 });
    const fault = faultOf(await device.client.request(1, READ)) as { kind: string };
    assert.equal(fault.kind, 'invalid_response');
    device.client.close();
  });
});

describe('Modbus TCP', () => {
  test('gives values and exceptions over one connection that it opens when first asked', async () => {
    const device = fakeDevice(new TestClock());
    device.onRequest = (request) => request.answer(request.unitId === 1 ? ONE : '83 02');
    assert.equal(device.dials, 0);
    assert.deepEqual(await device.client.request(1, READ), { ok: true, values: [1] });
    const refused = await device.client.request(2, READ);
    assert.deepEqual(faultOf(refused), { kind: 'exception', exceptionCode: 2 });
    assert.equal(device.dials, 1);
    device.client.close();
  });

  test('matches answers of units by transaction id, in any order', async () => {
    const device = fakeDevice(new TestClock());
    const answers = [7, 8, 9].map((start) =>
      device.client.request(start, { kind: 'read_holdings', start, count: 1 }),
    );
    await arrived(device, 3);
    for (const request of device.seen.toReversed())
      request.answer(Buffer.concat([Buffer.of(3, 2), request.pdu.subarray(1, 3)]));
    const values = (await Promise.all(answers)).map((answer) => answer.ok && answer.values[0]);
    assert.deepEqual(values, [7, 8, 9]);
    device.client.close();
  });

  test('throws away an answer that comes after its time limit', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    const late = device.client.request(1, READ, 100);
    await arrived(device, 1);
    await clock.advance(100);
    assert.deepEqual(faultOf(await late), { kind: 'timeout' });
    const next = device.client.request(1, READ, 100);
    await arrived(device, 2);
    device.seen[0]?.answer('03 02 00ff');
    device.seen[1]?.answer(ONE);
    assert.deepEqual(await next, { ok: true, values: [1] });
    device.client.close();
  });

  test('does not let a silent unit delay its neighbours behind the same address', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    device.onRequest = (request) => {
      if (request.unitId >= 200) request.answer(ONE);
    };
    // Forty silent units, each asked by several scripts: more than the device's whole window.
    for (let round = 0; round < 3; round += 1)
      for (let unitId = 1; unitId <= 40; unitId += 1) void device.client.request(unitId, READ, 900);
    const before = clock.monotonicMs();
    for (let count = 0; count < 20; count += 1)
      assert.deepEqual(await device.client.request(200, READ), { ok: true, values: [1] });
    assert.equal(clock.monotonicMs(), before);
    device.client.close();
  });

  test('keeps a connection on which several units are silent while one that answers is being asked', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    device.onRequest = (request) => {
      if (request.unitId === 200) clock.setTimer(900, () => request.answer(ONE));
    };
    for (let round = 0; round < 5; round += 1) {
      for (let unitId = 1; unitId <= 8; unitId += 1) void device.client.request(unitId, READ, 500);
      const answer = device.client.request(200, READ);
      await arrived(device, 9 * (round + 1));
      await clock.advance(900);
      assert.deepEqual(await answer, { ok: true, values: [1] });
      await clock.advance(100);
    }
    assert.equal(device.dials, 1);
    device.client.close();
  });

  test('sends one request at a time to a unit that loses some of several', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    // Takes one at a time and forgets what comes while it works.
    let isBusy = false;
    device.onRequest = (request) => {
      if (isBusy) return;
      isBusy = true;
      clock.setTimer(50, () => {
        isBusy = false;
        request.answer(ONE);
      });
    };
    const batch = async (): Promise<number> => {
      const answers = [1, 2, 3].map(() => device.client.request(1, READ, 400));
      for (let stepMs = 0; stepMs < 40; stepMs += 1) {
        await settle();
        await clock.advance(10);
      }
      return (await Promise.all(answers)).filter((answer) => answer.ok).length;
    };
    assert.equal(await batch(), 1);
    assert.equal(await batch(), 3);
    device.client.close();
  });

  test('takes a connection for half-open after silence, and uses a new one without a pause', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    echoStart(device);
    assert.equal((await device.client.request(1, READ)).ok, true);
    // The device restarted: what is sent on the old connection disappears.
    device.onRequest = undefined;
    for (let count = 1; count <= FIELD.silentRequests; count += 1) {
      const silent = device.client.request(1, READ);
      await arrived(device, 1 + count);
      await clock.advance(FIELD.requestMs);
      assert.deepEqual(faultOf(await silent), { kind: 'timeout' });
    }
    echoStart(device);
    assert.equal((await device.client.request(1, READ)).ok, true);
    assert.equal(device.dials, 2);
    device.client.close();
  });

  test('finds a device that comes back within 30 s of any absence', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
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

  test('lets go of the connection when nobody asks, and takes it up again', async () => {
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

  test('sends what was still waiting over the next connection', async () => {
    const device = fakeDevice(new TestClock(), { requestsAtOncePerUnit: 1 });
    device.onRequest = (request) => {
      if (device.seen.length === 2) request.stream.destroy();
      else request.answer(ONE);
    };
    const answers = await Promise.all([1, 2, 3].map(() => device.client.request(1, READ)));
    assert.deepEqual(
      answers.map((answer) => answer.ok),
      [true, false, true],
    );
    assert.equal(device.seen.length, 3);
    assert.equal(device.dials, 2);
    device.client.close();
  });

  test('gives each request a connection of its own where the device hangs up after each answer, and tries again later', async () => {
    const clock = new TestClock();
    const device = fakeDevice(clock);
    let doesHangUp = true;
    device.onRequest = (request) => {
      if (request.stream.writableEnded) return;
      request.answer('03 02 0007');
      if (doesHangUp) request.stream.end();
    };
    const round = async (): Promise<number> => {
      const asked = [1, 2, 3, 3].map((unit) => device.client.request(unit, READ, 1_000));
      for (let turn = 0; turn < 50; turn += 1) await clock.advance(0);
      return (await Promise.all(asked)).filter(({ ok }) => ok).length;
    };
    for (let times = 0; times < FIELD.shortConnectionsInRow; times += 1) assert.equal(await round(), 1);
    for (let times = 0; times < 3; times += 1) assert.equal(await round(), 4);
    doesHangUp = false;
    await clock.advance(FIELD.shortConnectionsMs);
    const dialsBefore = device.dials;
    assert.equal(await round(), 4);
    assert.equal(await round(), 4);
    assert.equal(device.dials, dialsBefore + 1);
  });

  test('survives any bytes: every request ends, and the next device is heard', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }), async (chunks) => {
        const clock = new TestClock();
        const device = fakeDevice(clock);
        const answers = [1, 2].map((unitId) => device.client.request(unitId, READ));
        await settle();
        await settle();
        for (const chunk of chunks) device.streams[0]?.write(Buffer.from(chunk));
        await settle();
        await clock.advance(FIELD.requestMs);
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
