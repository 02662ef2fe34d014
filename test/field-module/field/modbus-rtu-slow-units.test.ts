import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { ModbusAnswer } from '../../../src/field-module/field/modbus-fault.ts';
import { ModbusRtu } from '../../../src/field-module/field/modbus-rtu.ts';
import { encodeRtuFrame } from '../../../src/field-module/field/modbus-rtu-frame.ts';
import { SerialPort } from '../../../src/field-module/field/serial-port.ts';
import { runs } from '../../support/runs.ts';
import { TestClock } from '../../support/test-clock.ts';
import { fakeSerialDevice, type FakeSerialDevice, played, SETTINGS } from './serial-device.ts';

/** What a register of a unit holds. */
function registerOf(unitId: number, address: number): number {
  return (unitId * 1_009 + address * 17) % 65_536;
}

function answerTo(request: Buffer): Buffer {
  const unitId = request[0] ?? 0;
  const value = registerOf(unitId, request.readUInt16BE(2));
  return encodeRtuFrame(unitId, Buffer.of(3, 2, value >> 8, value & 0xff));
}

/**
 * Each unit works on one request after the other, and keeps the last that came meanwhile.
 * @param workMs of each request in turn; undefined: it is forgotten
 */
function behave(device: FakeSerialDevice, clock: TestClock, workMs: readonly (number | undefined)[]): void {
  /** What a busy unit keeps. */
  const kept = new Map<number, Buffer | undefined>();
  let count = 0;
  const work = (request: Buffer): void => {
    const unitId = request[0] ?? 0;
    const takesMs = workMs[count++ % workMs.length];
    kept.set(unitId, undefined);
    clock.setTimer(takesMs ?? 1, () => {
      if (takesMs !== undefined) device.say(answerTo(request));
      const next = kept.get(unitId);
      kept.delete(unitId);
      if (next) work(next);
    });
  };
  device.onWrite = (request) => {
    const unitId = request[0] ?? 0;
    if (kept.has(unitId)) kept.set(unitId, request);
    else work(request);
  };
}

interface Poll {
  unitId: number;
  start: number;
  timeoutMs: number;
  pauseMs: number;
}

const POLLS = fc.array(
  fc.record({
    unitId: fc.constantFrom(1, 1, 2),
    start: fc.nat({ max: 40 }),
    timeoutMs: fc.constantFrom(200, 1_000),
    pauseMs: fc.constantFrom(0, 0, 0, 20, 200, 1_000),
  }),
  { minLength: 8, maxLength: 8 },
);

async function poll(workMs: readonly (number | undefined)[], polls: readonly Poll[]) {
  const clock = new TestClock();
  const device = fakeSerialDevice();
  const port = new SerialPort({ open: device.open, settings: SETTINGS, clock, limits: LIMITS.field });
  const client = new ModbusRtu({ port, clock, limits: LIMITS.field });
  behave(device, clock, workMs);
  const asked = async (): Promise<ModbusAnswer[]> => {
    const answers: Promise<ModbusAnswer>[] = [];
    for (const { unitId, start, timeoutMs, pauseMs } of polls) {
      answers.push(client.request(unitId, { kind: 'read_holdings', start, count: 1 }, timeoutMs));
      if (pauseMs > 0) await clock.sleep(pauseMs);
    }
    return Promise.all(answers);
  };
  const answers = await played(clock, asked());
  const wrong = polls.filter(({ unitId, start }, index) => {
    const answer = answers[index];
    return answer?.ok === true && answer.values[0] !== registerOf(unitId, start);
  });
  return { answers, wrong, requests: device.written.length };
}

describe('Modbus RTU takes no wrong value', () => {
  const units = {
    'of a unit that is always later than anybody waits': [450],
    'of a unit that is quick, slow or deaf': [5, 30, 60, 150, 250, 450, 800, 1_300, 2_500, undefined],
  };
  for (const [what, works] of Object.entries(units))
    test(what, async () => {
      const workMs = fc.array(fc.constantFrom(...works), { minLength: 1, maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(POLLS, workMs, async (polls, work) => {
          assert.deepEqual((await poll(work, polls)).wrong, []);
        }),
        { numRuns: runs(25) },
      );
    });
});

test('Modbus RTU sends each request once, and reads a quick unit that lost an answer again within its next poll', async () => {
  const workMs = Array.from({ length: 1_000 }, (_, index) => (index === 30 ? undefined : 20));
  const polls = Array.from({ length: 60 }, (_, start) => ({
    unitId: 1,
    start,
    timeoutMs: 200,
    pauseMs: 1_000,
  }));
  const { answers, requests } = await poll(workMs, polls);
  assert.equal(answers.filter(({ ok }) => !ok).length, 1);
  assert.equal(requests, polls.length);
});
