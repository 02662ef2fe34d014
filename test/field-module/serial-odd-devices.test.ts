/** Scripts that share a serial line with each other, with Modbus and with a scan, and devices on it that are odd. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { LIMITS } from '../../src/lib/limits.ts';
import { Calls } from '../../src/field-module/calls.ts';
import { FieldBus } from '../../src/field-module/field/index.ts';
import { decodeRtuFrame, encodeRtuFrame } from '../../src/field-module/field/modbus-rtu-frame.ts';
import type { OpenSerialLine } from '../../src/field-module/field/serial-port.ts';
import { Scans } from '../../src/field-module/scan/scans.ts';
import type { CallResult, SerialOperation, ThreadCall } from '../../src/field-module/thread-messages.ts';
import type { FromModule } from '../../src/protocol/module.ts';
import { runs } from '../support/runs.ts';
import { settle, TestClock } from '../support/test-clock.ts';
import { SETTINGS } from './field/serial-device.ts';
import { NO_BROKERS } from './no-brokers.ts';

const FIELD = LIMITS.field;
const PORT = 'rs485';
const TIMEOUT_MS = 300;
/** Bytes of a question and of an answer: `?1-003.` and `!1-003.`, of script 1 its third. */
const SIZE = 7;
/** The one unit of Modbus; each of its registers holds its own address and `UNIT_MARK`. */
const UNIT = 9;
const UNIT_MARK = 0x4000;

/** How the devices answer one question. */
interface Answer {
  /** Undefined: not at all. */
  afterMs: number | undefined;
  /** Pauses between two pieces. */
  pauseMs: number | undefined;
  isTwice: boolean;
  noise: 'none' | 'before' | 'after';
}

interface Line {
  open: OpenSerialLine;
  /** What was written, a write each. */
  readonly heard: string[];
  pull(): void;
  putIn(): void;
}

/** The devices of the line, which answer one question after the other. */
function lineOf(clock: TestClock, answers: readonly Answer[]): Line {
  let on: Parameters<OpenSerialLine>[1] | undefined;
  let isPulled = false;
  let count = 0;
  let freeAtMs = 0;
  const heard: string[] = [];
  const say = (bytes: Buffer, to = on): void => {
    if (to === on) to?.onBytes(bytes);
  };
  const answer = (bytes: Buffer): void => {
    const behaviour = answers[count % answers.length];
    count += 1;
    if (behaviour?.afterMs === undefined) return;
    const { afterMs, pauseMs, isTwice, noise } = behaviour;
    const asked = on;
    const rubbish = Buffer.from([0xfe, 0x00, 0x7f]);
    const all = Buffer.concat([
      ...(noise === 'before' ? [rubbish] : []),
      bytes,
      ...(isTwice ? [bytes] : []),
      ...(noise === 'after' ? [rubbish] : []),
    ]);
    const cut = pauseMs === undefined ? all.length : 3;
    const nowMs = clock.monotonicMs();
    const waitMs = Math.max(nowMs, freeAtMs) - nowMs + afterMs;
    freeAtMs = nowMs + waitMs + (pauseMs ?? 0);
    clock.setTimer(waitMs, () => say(all.subarray(0, cut), asked));
    if (pauseMs !== undefined) clock.setTimer(waitMs + pauseMs, () => say(all.subarray(cut), asked));
  };
  return {
    heard,
    open: (_, given) => {
      if (isPulled) return Promise.reject(new Error('no such device file'));
      on = given;
      const own = given;
      return Promise.resolve({
        write: (bytes) => {
          if (on !== own) return Promise.reject(new Error('the device is gone'));
          heard.push(bytes.toString('latin1'));
          const text = bytes.toString('latin1');
          const frame = decodeRtuFrame(bytes);
          if (/^\?\d-\d{3}\.$/.test(text)) answer(Buffer.from(text.replace('?', '!')));
          else if (frame?.unitId === UNIT) answer(encodeRtuFrame(UNIT, registersOf(frame.pdu)));
          return Promise.resolve();
        },
        close: () => {
          if (on === own) on = undefined;
        },
      });
    },
    pull: () => {
      isPulled = true;
      const gone = on;
      on = undefined;
      gone?.onEnd('the device is gone');
    },
    putIn: () => void (isPulled = false),
  };
}

function registersOf(pdu: Buffer): Buffer {
  const [start, count] = [pdu.readUInt16BE(1), pdu.readUInt16BE(3)];
  if (pdu[0] !== 3 || start + count > 100) return Buffer.of((pdu[0] ?? 0) | 0x80, 2);
  const data = Buffer.alloc(count * 2);
  for (let index = 0; index < count; index += 1) data.writeUInt16BE(UNIT_MARK + start + index, index * 2);
  return Buffer.concat([Buffer.of(3, data.length), data]);
}

/** How a script asks. */
type Manner = 'send and receive' | 'transaction' | 'write and read' | 'modbus';

interface ScriptPlan {
  manner: Manner;
  pauseMs: number;
  /** Between question and reading of the answer. */
  thinkMs: number;
}

interface Report {
  answered: number;
  /** What was taken for an answer and was none. */
  wrong: string[];
  /** Questions that were written other than once although that was said, or more than once. */
  miswritten: string[];
  /** Calls that took longer than any may. */
  stuck: string[];
}

const QUESTIONS = 5;

class House {
  readonly clock = new TestClock();
  readonly report: Report = { answered: 0, wrong: [], miswritten: [], stuck: [] };
  readonly line: Line;
  readonly bus: FieldBus;
  readonly calls: Calls;
  readonly findings: FromModule[] = [];

  constructor(answers: readonly Answer[]) {
    const { clock } = this;
    this.line = lineOf(clock, answers);
    this.bus = new FieldBus({
      clock,
      ports: { [PORT]: { path: '/dev/ttyUSB0', ...SETTINGS } },
      openSerialLine: () => this.line.open,
    });
    this.calls = new Calls({
      bus: this.bus,
      channel: { request: () => Promise.resolve({ type: 'answer', id: 'q' }) },
      clock,
      limits: FIELD,
      mqtt: NO_BROKERS,
    });
  }

  async call(run: number, call: ThreadCall): Promise<CallResult> {
    const beganMs = this.clock.monotonicMs();
    const result = await this.calls.carryOut(run, { ...call, remainingMs: 30_000 });
    const tookMs = this.clock.monotonicMs() - beganMs;
    if (tookMs > 30_000) this.report.stuck.push(`${JSON.stringify(call)} ${tookMs} ms`);
    return result;
  }

  async script(run: number, plan: ScriptPlan): Promise<void> {
    for (let count = 0; count < QUESTIONS; count += 1) {
      if (plan.manner === 'modbus') await this.#readRegisters(run, count);
      else await this.#ask(run, count, plan.manner, plan.thinkMs);
      if (plan.pauseMs > 0) await this.clock.sleep(plan.pauseMs);
    }
  }

  async #ask(run: number, count: number, manner: Manner, thinkMs: number): Promise<void> {
    const own = `${run}-${String(count).padStart(3, '0')}.`;
    const serial = (operation: SerialOperation): Promise<CallResult> =>
      this.call(run, { kind: 'serial', port: PORT, operation });
    if (manner === 'transaction' && (await serial({ do: 'acquire' })).kind !== 'done') return;
    if (manner !== 'write and read') await serial({ do: 'flush' });
    const written = await serial({ do: 'write', bytes: Buffer.from(`?${own}`) });
    const times = this.line.heard.filter((text) => text === `?${own}`).length;
    if (written.kind === 'done' ? times !== 1 : times > 1) this.report.miswritten.push(own);
    if (thinkMs > 0) await this.clock.sleep(thinkMs);
    const answer = await serial(
      manner === 'send and receive'
        ? { do: 'receive', timeoutMs: TIMEOUT_MS }
        : { do: 'read', countMax: SIZE, timeoutMs: TIMEOUT_MS },
    );
    if (manner === 'transaction') await serial({ do: 'release' });
    if (answer.kind !== 'bytes') return;
    const text = Buffer.from(answer.bytes).toString('latin1');
    // Whole answers in what came; noise is the script's to tell.
    for (const [, heard] of text.matchAll(/!(\d-\d{3}\.)/g)) {
      if (heard === own) this.report.answered += 1;
      else this.report.wrong.push(`${heard} for ${own} ${manner}`);
    }
  }

  async #readRegisters(run: number, count: number): Promise<void> {
    const start = run * 10 + count;
    const answer = await this.call(run, {
      kind: 'modbus',
      uri: `port://${PORT}`,
      unitId: UNIT,
      request: { kind: 'read_holdings', start, count: 1 },
      timeoutMs: TIMEOUT_MS,
    });
    const isException = answer.kind === 'fault' && answer.fault.number > 100;
    if (isException) this.report.wrong.push(`an exception for register ${start}`);
    if (answer.kind !== 'values') return;
    if (answer.values.length === 1 && answer.values[0] === UNIT_MARK + start) this.report.answered += 1;
    else this.report.wrong.push(`${String(answer.values)} for register ${start}`);
  }

  scan(timeoutMs: number): void {
    new Scans({
      bus: this.bus,
      clock: this.clock,
      limits: FIELD,
      send: (message) => this.findings.push(message),
      onFault: (error) => this.report.wrong.push(String(error)),
    }).start({
      type: 'scan',
      id: 's',
      uri: `port://${PORT}`,
      first_unit: UNIT - 1,
      last_unit: UNIT + 1,
      timeout_ms: timeoutMs,
    });
  }

  /** Lets time pass until all of it has happened. */
  async play(work: readonly Promise<void>[]): Promise<void> {
    let isOver = false;
    const all = Promise.all(work).then(() => void (isOver = true));
    const endMs = this.clock.monotonicMs() + 600_000;
    for (;;) {
      for (let turns = 0; turns < 3; turns += 1) await settle();
      if (isOver) break;
      if (this.clock.monotonicMs() > endMs || this.clock.waiting === 0) {
        this.report.stuck.push('a script does not end');
        return;
      }
      await this.clock.advanceToNext();
    }
    await all;
    await this.bus.close();
  }
}

const ANSWER: fc.Arbitrary<Answer> = fc.record({
  // Some after the time limit of the script, and before the line has rested.
  afterMs: fc.constantFrom(5, 20, 60, 150, 290, 310, 350, undefined),
  pauseMs: fc.constantFrom(undefined, undefined, 5, 40),
  isTwice: fc.constantFrom(false, false, false, true),
  noise: fc.constantFrom('none', 'none', 'none', 'before', 'after'),
});
const ANSWERS = fc.array(ANSWER, { minLength: 1, maxLength: 12 });
/** A script that does not flush before it asks gets the rest of older answers. */
const CLEAN = ANSWERS.map((answers) =>
  answers.map(({ afterMs }): Answer => ({ afterMs, pauseMs: undefined, isTwice: false, noise: 'none' })),
);
/** Units that answer twice are another matter (docs/decisions/0060-field-protocols.md). */
const ONCE = ANSWERS.map((answers) => answers.map((answer) => ({ ...answer, isTwice: false })));

const plansOf = (...manners: Manner[]): fc.Arbitrary<ScriptPlan[]> =>
  fc.array(
    fc.record({
      manner: fc.constantFrom(...manners),
      pauseMs: fc.constantFrom(0, 0, 10, 120, 700),
      // As long as another script would need for its question.
      thinkMs: fc.constantFrom(0, 0, 0, 30, 200),
    }),
    { minLength: 1, maxLength: 3 },
  );

describe('on one serial line with odd devices no script gets the answer to another question,', () => {
  for (const [how, plans, behaviours] of [
    ['of the older generation', plansOf('send and receive'), ANSWERS],
    ['with transactions', plansOf('transaction'), ANSWERS],
    ['that writes and reads', plansOf('write and read'), CLEAN],
    ['that speaks Modbus', plansOf('modbus'), ONCE],
    ['of any kind', plansOf('send and receive', 'transaction', 'write and read', 'modbus'), CLEAN],
    ['of any kind that flushes', plansOf('send and receive', 'transaction', 'modbus'), ONCE],
  ] as const)
    test(how, async () => {
      await fc.assert(
        fc.asyncProperty(
          plans,
          behaviours,
          // A scan waits as long as the scripts, or shorter than the units take.
          fc.constantFrom(undefined, TIMEOUT_MS, how === 'that speaks Modbus' ? 100 : TIMEOUT_MS),
          fc.option(fc.integer({ min: 1, max: 2_000 })),
          async (scripts, answers, scanMs, pulledAfterMs) => {
            const house = new House(answers);
            const { clock, line, report } = house;
            if (scanMs !== undefined) clock.setTimer(100, () => house.scan(scanMs));
            if (pulledAfterMs !== null) {
              clock.setTimer(pulledAfterMs, () => line.pull());
              clock.setTimer(pulledAfterMs + 500, () => line.putIn());
            }
            await house.play(scripts.map((plan, index) => house.script(index + 1, plan)));
            const { wrong, miswritten, stuck } = report;
            assert.deepEqual({ wrong, miswritten, stuck }, { wrong: [], miswritten: [], stuck: [] });
          },
        ),
        { numRuns: runs(60) },
      );
    });
});
