import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import type { ModbusClient } from '../../../src/field-module/field/modbus-tcp.ts';
import type { ModbusAnswer } from '../../../src/field-module/field/modbus-fault.ts';
import type { ModbusRequest } from '../../../src/field-module/field/modbus-pdu.ts';
import { ModbusRtu } from '../../../src/field-module/field/modbus-rtu.ts';
import { decodeRtuFrame, encodeRtuFrame } from '../../../src/field-module/field/modbus-rtu-frame.ts';
import { SerialPort } from '../../../src/field-module/field/serial-port.ts';
import { TestClock } from '../../support/test-clock.ts';
import { runs } from '../../support/runs.ts';
import { fakeSerialDevice, type FakeSerialDevice, played, SETTINGS } from './serial-device.ts';

const READ: ModbusRequest = { kind: 'read_holdings', start: 0, count: 1 };
const FIELD = LIMITS.field;

interface Line {
  clock: TestClock;
  device: FakeSerialDevice;
  client: ModbusClient;
  ask: (unitId: number, request?: ModbusRequest, timeoutMs?: number) => Promise<ModbusAnswer>;
}

function line(limits: Partial<Limits['field']> = {}): Line {
  const clock = new TestClock();
  const device = fakeSerialDevice();
  const all = { ...FIELD, ...limits };
  const port = new SerialPort({ open: device.open, settings: SETTINGS, clock, limits: all });
  const client = new ModbusRtu({ port, clock, limits: all });
  return {
    clock,
    device,
    client,
    ask: (unitId, request = READ, timeoutMs = 1_000) =>
      played(clock, client.request(unitId, request, timeoutMs)),
  };
}

/** Units that answer with a value, or not at all. */
function answering(device: FakeSerialDevice, values: Record<number, number>): void {
  device.onWrite = (bytes) => {
    const unitId = bytes[0] ?? 0;
    const value = values[unitId];
    if (value !== undefined) device.say(encodeRtuFrame(unitId, Buffer.of(3, 2, value >> 8, value & 0xff)));
  };
}

const faultOf = (answer: ModbusAnswer): unknown => (answer.ok ? 'no fault' : answer.fault);
const kindOf = (answer: ModbusAnswer): string => (answer.ok ? 'no fault' : answer.fault.kind);

test('Modbus RTU reads from every unit that a byte can name, 0 and those reserved by the standard too', async () => {
  for (const unitId of [0, 1, 247, 248, 255]) {
    const { ask, device } = line();
    answering(device, { [unitId]: 7 });
    assert.deepEqual(await ask(unitId), { ok: true, values: [7] }, String(unitId));
  }
});

describe('Modbus RTU refuses or fails', () => {
  test('Modbus RTU refuses units that no byte can name', async () => {
    const { ask, device } = line();
    for (const unitId of [-1, 256, 1.5])
      assert.match(JSON.stringify(faultOf(await ask(unitId))), /0 to 255/, String(unitId));
    assert.equal(device.openings.length, 0);
  });

  test('Modbus RTU refuses or fails when the port cannot be opened, with the reason; then at once until its pause is over', async () => {
    const { ask, device, clock } = line();
    device.refusal = Object.assign(new Error('no'), { code: 'ENOENT' });
    const fault = { kind: 'connection_failed', reason: 'no such device file' };
    assert.deepEqual(faultOf(await ask(1)), fault);
    device.refusal = undefined;
    answering(device, { 1: 5 });
    assert.deepEqual(faultOf(await ask(1)), fault);
    await clock.advance(FIELD.reconnectFirstMs);
    assert.deepEqual(await ask(1), { ok: true, values: [5] });
  });

  test('Modbus RTU refuses or fails at the time limit, counted from the end of sending', async () => {
    const { ask, clock } = line();
    const before = clock.monotonicMs();
    assert.deepEqual(faultOf(await ask(1, READ, 300)), { kind: 'timeout' });
    const tookMs = clock.monotonicMs() - before;
    // 3.5 characters of silence, 8 bytes of 10 bits at 9 600 baud, the limit.
    assert.ok(tookMs >= 311 && tookMs <= 316, String(tookMs));
  });

  test('Modbus RTU fails soon after the end of an answer with a wrong checksum', async () => {
    const { ask, device, clock } = line();
    device.onWrite = () => device.say('01 03 02 0001 0000');
    const before = clock.monotonicMs();
    assert.equal(kindOf(await ask(1)), 'invalid_response');
    assert.ok(clock.monotonicMs() - before < 100);
  });

  test('Modbus RTU fails at its time limit in endless noise', async () => {
    const { ask, device, clock } = line();
    device.onWrite = () => {
      const noise = clock.setRepeating(2, () => device.say('55'));
      clock.setTimer(60_000, () => noise.cancel());
    };
    assert.equal(kindOf(await ask(1)), 'invalid_response');
  });

  test('Modbus RTU fails a request in flight when the adapter is pulled, and goes on when it is back', async () => {
    const { ask, device, clock } = line();
    device.onWrite = () => device.vanish();
    assert.deepEqual(faultOf(await ask(1)), { kind: 'connection_failed', reason: 'the device is gone' });
    await clock.advance(FIELD.reconnectFirstMs);
    answering(device, { 1: 5 });
    assert.deepEqual(await ask(1), { ok: true, values: [5] });
    assert.equal(device.openings.length, 2);
  });

  test('Modbus RTU refuses more requests than may wait for the line', async () => {
    const { client, clock } = line({ queuedRequests: 2 });
    const answers = [1, 2, 3, 4].map((unitId) => client.request(unitId, READ, 50));
    assert.equal(kindOf((await played(clock, Promise.all(answers)))[3] ?? assert.fail()), 'overloaded');
  });
});

describe('Modbus RTU', () => {
  test('Modbus RTU frames request and answer as the specification shows', async () => {
    const { ask, device } = line();
    answering(device, { 17: 555 });
    assert.deepEqual(await ask(17, { kind: 'read_holdings', start: 0x6b, count: 1 }), {
      ok: true,
      values: [555],
    });
    const [sent = Buffer.alloc(0)] = device.written;
    assert.deepEqual(decodeRtuFrame(sent), { unitId: 17, pdu: Buffer.from('03006b0001', 'hex') });
  });

  test('Modbus RTU gives exceptions and confirms writes', async () => {
    const { ask, device } = line();
    device.onWrite = (bytes) =>
      device.say(bytes[1] === 3 ? encodeRtuFrame(1, Buffer.of(0x83, 2)) : Buffer.from(bytes));
    assert.deepEqual(faultOf(await ask(1)), { kind: 'exception', exceptionCode: 2 });
    assert.deepEqual(await ask(1, { kind: 'write_holding', start: 4, values: [9] }), {
      ok: true,
      values: [],
    });
  });

  test('Modbus RTU sends one request at a time, in order', async () => {
    const { client, device, clock } = line();
    let outstanding = 0;
    device.onWrite = (bytes) => {
      outstanding += 1;
      assert.equal(outstanding, 1);
      clock.setTimer(30, () => {
        outstanding -= 1;
        device.say(encodeRtuFrame(bytes[0] ?? 0, Buffer.of(3, 2, 0, bytes[0] ?? 0)));
      });
    };
    const answers = await played(clock, Promise.all([3, 1, 2].map((unitId) => client.request(unitId, READ))));
    assert.deepEqual(
      answers.map((answer) => answer.ok && answer.values[0]),
      [3, 1, 2],
    );
    assert.deepEqual(
      device.written.map((bytes) => bytes[0]),
      [3, 1, 2],
    );
  });

  test('Modbus RTU joins an answer that comes in pieces, and drops one of another unit', async () => {
    const { ask, device, clock } = line();
    const answer = encodeRtuFrame(1, Buffer.from('03020007', 'hex'));
    device.onWrite = () => {
      device.say(encodeRtuFrame(9, Buffer.from('03020063', 'hex')));
      for (const [index, byte] of answer.entries())
        clock.setTimer(50 + index * 5, () => device.say(Buffer.of(byte)));
    };
    assert.deepEqual(await ask(1), { ok: true, values: [7] });
  });

  test('Modbus RTU drops answers of other units that an adapter delivers at once', async () => {
    const { ask, device, clock } = line();
    const other = encodeRtuFrame(2, Buffer.of(3, 2, 0, 9));
    device.onWrite = () => {
      clock.setTimer(20, () => device.say(Buffer.concat([other, other])));
      clock.setTimer(200, () => device.say(Buffer.concat([other, encodeRtuFrame(1, Buffer.of(3, 2, 0, 7))])));
    };
    assert.deepEqual(await ask(1), { ok: true, values: [7] });
    assert.deepEqual(await ask(1), { ok: true, values: [7] });
  });

  test('Modbus RTU waits for the confirmation of a write behind the late answer to a read', async () => {
    const { ask, device, clock } = line();
    const late = encodeRtuFrame(1, Buffer.of(3, 2, 0, 9));
    let count = 0;
    device.onWrite = (bytes) => {
      count += 1;
      // The read is answered while the write is under way.
      if (count === 1) clock.setTimer(350, () => device.say(late));
      else clock.setTimer(300, () => device.say(bytes));
    };
    assert.equal(kindOf(await ask(1, READ, 100)), 'timeout');
    const write = { kind: 'write_holding', start: 5, values: [1] } as const;
    assert.deepEqual(await ask(1, write), { ok: true, values: [] });
    assert.equal(device.written.length, 2);
  });

  test('Modbus RTU does not take a late exception for the answer to the next read', async () => {
    const { ask, device, clock } = line();
    let count = 0;
    device.onWrite = () => {
      count += 1;
      const answer = count === 1 ? Buffer.of(0x83, 2) : Buffer.of(3, 2, 0, 7);
      clock.setTimer(count === 1 ? 350 : 200, () => device.say(encodeRtuFrame(1, answer)));
    };
    assert.equal(kindOf(await ask(1, { ...READ, start: 9 }, 100)), 'timeout');
    await clock.advance(300);
    assert.deepEqual(await ask(1), { ok: true, values: [7] });
  });

  test('Modbus RTU waits for the rest of an answer as long as adapters and a busy machine delay it', async () => {
    const { ask, device, clock } = line();
    const answer = encodeRtuFrame(1, Buffer.from('03020007', 'hex'));
    device.onWrite = () => {
      for (const [index, from] of [0, 3, 6].entries())
        clock.setTimer(10 + index * 45, () => device.say(answer.subarray(from, from + 3)));
    };
    assert.deepEqual(await ask(1), { ok: true, values: [7] });
  });

  test('Modbus RTU does not ask a unit again until its answer came late or cannot come any more', async () => {
    const { ask, device, clock } = line();
    const next: ModbusRequest = { kind: 'read_holdings', start: 50, count: 1 };
    // Register 50 holds 2, any other 1.
    let workMs: number | undefined = 1_250;
    device.onWrite = (bytes) => {
      const answer = encodeRtuFrame(1, Buffer.of(3, 2, 0, bytes[3] === 50 ? 2 : 1));
      if (workMs !== undefined) clock.setTimer(workMs, () => device.say(answer));
      workMs = 20;
    };
    assert.equal(kindOf(await ask(1, READ, 200)), 'timeout');
    assert.equal(kindOf(await ask(1, next)), 'timeout');
    assert.equal(device.written.length, 1);
    await clock.advance(1_100);
    assert.deepEqual(await ask(1, next), { ok: true, values: [2] });
    workMs = undefined;
    assert.equal(kindOf(await ask(1, READ, 200)), 'timeout');
    await clock.advance(FIELD.lateAnswerMsMax - FIELD.listenMsMax);
    assert.deepEqual(await ask(1, next), { ok: true, values: [2] });
    assert.equal(device.written.length, 4);
  });

  test('Modbus RTU finds an answer behind bytes of a switching transceiver, and nothing in noise', async () => {
    const { ask, device } = line();
    const answer = encodeRtuFrame(1, Buffer.from('03020007', 'hex'));
    for (const noise of ['00', 'ff', '0103', '010302', '00ff00ff']) {
      device.onWrite = () => device.say(Buffer.concat([Buffer.from(noise, 'hex'), answer]));
      assert.deepEqual(await ask(1), { ok: true, values: [7] }, noise);
    }
    // Answers of another unit, or of another function.
    for (const wrong of [
      encodeRtuFrame(2, Buffer.from('03020007', 'hex')),
      encodeRtuFrame(1, Buffer.from('04020007', 'hex')),
    ]) {
      device.onWrite = () => device.say(Buffer.concat([Buffer.of(0), wrong]));
      assert.equal(kindOf(await ask(1)), 'invalid_response');
    }
  });

  test('Modbus RTU drops the echo of an adapter, and does not take it for a confirmation', async () => {
    const { ask, device, clock } = line();
    const write: ModbusRequest = { kind: 'write_holding', start: 1, values: [5] };
    let isOn = true;
    let hasEcho = true;
    device.onWrite = (bytes) => {
      if (hasEcho) for (const byte of bytes) device.say(Buffer.of(byte));
      if (isOn) device.say(bytes[1] === 3 ? encodeRtuFrame(1, Buffer.from('03020007', 'hex')) : bytes);
    };
    assert.deepEqual(await ask(1), { ok: true, values: [7] });
    assert.deepEqual(await ask(1, write), { ok: true, values: [] });
    isOn = false;
    assert.equal(kindOf(await ask(1, write)), 'timeout');
    assert.equal(kindOf(await ask(1)), 'timeout');
    await clock.advance(FIELD.lateAnswerMsMax);
    isOn = true;
    hasEcho = false;
    assert.deepEqual(await ask(1), { ok: true, values: [7] });
    assert.deepEqual(await ask(1, write), { ok: true, values: [] });
  });

  test('Modbus RTU reports from the first read on that nobody is behind an echo', async () => {
    const { ask, device } = line();
    device.onWrite = (bytes) => device.say(bytes);
    assert.equal(kindOf(await ask(1)), 'timeout');
    assert.equal(kindOf(await ask(1, { kind: 'write_holding', start: 1, values: [5] })), 'timeout');
  });

  test('Modbus RTU does not take the second answer of a unit that answers twice for that of the next read', async () => {
    const { ask, device, clock } = line();
    device.onWrite = (bytes) => {
      const answer = encodeRtuFrame(1, Buffer.of(3, 2, 0, bytes[3] ?? 0));
      // The second one comes while the next request is worked on.
      for (const afterMs of [30, 50]) clock.setTimer(afterMs, () => device.say(answer));
    };
    const read = (start: number) => ask(1, { kind: 'read_holdings', start, count: 1 });
    assert.deepEqual(await read(1), { ok: true, values: [1] });
    await clock.advance(1_000);
    for (const start of [2, 3, 4, 5]) assert.deepEqual(await read(start), { ok: true, values: [start] });
  });

  test('Modbus RTU asks a silent unit less often, so that the others keep their pace, and reads it when it is back', async () => {
    const { ask, device, clock } = line();
    const values: Record<number, number> = { 1: 1 };
    answering(device, values);
    const round = async (): Promise<[live: boolean, dead: boolean, tookMs: number]> => {
      const before = clock.monotonicMs();
      const dead = await ask(2);
      const live = await ask(1);
      return [live.ok, dead.ok, clock.monotonicMs() - before];
    };
    for (let count = 0; count < FIELD.silentRequests; count += 1) assert.equal((await round())[0], true);
    let lostMs = 0;
    for (let count = 0; count < 20; count += 1) {
      const [live, , tookMs] = await round();
      assert.equal(live, true);
      lostMs += tookMs;
      await clock.advance(500);
    }
    assert.ok(lostMs < 5_000, `${lostMs} ms for 20 rounds`);
    values[2] = 2;
    await clock.advance(FIELD.unitRestMsMax);
    assert.deepEqual(await ask(2), { ok: true, values: [2] });
  });

  test('Modbus RTU sends a broadcast and waits for no answer', async () => {
    const { ask, device, clock } = line();
    const before = clock.monotonicMs();
    const answer = await ask(0, { kind: 'write_holding', start: 1, values: [1] });
    assert.deepEqual(answer, { ok: true, values: [] });
    assert.equal(device.written[0]?.[0], 0);
    assert.ok(clock.monotonicMs() - before >= FIELD.broadcastMs);
  });

  test('Modbus RTU survives any bytes: the request ends, the next one is answered', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 6 }), async (pieces) => {
        const { ask, device, clock } = line();
        device.onWrite = () => {
          device.onWrite = undefined;
          for (const [index, piece] of pieces.entries())
            clock.setTimer(index * 7, () => device.say(Buffer.from(piece)));
        };
        await ask(1, READ, 60);
        await clock.advance(FIELD.lateAnswerMsMax);
        answering(device, { 1: 5 });
        assert.deepEqual(await ask(1), { ok: true, values: [5] });
      }),
      { numRuns: runs(40) },
    );
  });
});
