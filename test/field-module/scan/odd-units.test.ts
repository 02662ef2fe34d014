/** Scans of lines and addresses with odd units, beside scripts that live there. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { LIMITS } from '../../../src/lib/limits.ts';
import { FieldBus } from '../../../src/field-module/field/index.ts';
import { decodeRtuFrame, encodeRtuFrame } from '../../../src/field-module/field/modbus-rtu-frame.ts';
import {
  createTcpFrameReader,
  encodeTcpFrame,
} from '../../../src/field-module/field/modbus-tcp-connection.ts';
import { Scans } from '../../../src/field-module/scan/scans.ts';
import type { FromModule } from '../../../src/protocol/module.ts';
import { runs } from '../../support/runs.ts';
import { streamPair } from '../../support/stream-pair.ts';
import { settle, TestClock } from '../../support/test-clock.ts';
import { SETTINGS } from '../field/serial-device.ts';

const FIELD = LIMITS.field;
const SCAN_MS = 100;
const SCRIPT_MS = 600;

/** What a unit is, and how it answers. */
interface Unit {
  /** Where its SunSpec marker is; undefined: it has none. */
  base: 40_000 | 50_000 | 0 | undefined;
  isIdentified: boolean;
  /** Time for each answer in turn; undefined: it is lost. */
  workMs: readonly (number | undefined)[];
  /** It answers for the next unit, too. */
  isDouble: boolean;
}

function textRegisters(text: string, count: number): number[] {
  const bytes = Buffer.alloc(count * 2);
  bytes.write(text);
  return Array.from({ length: count }, (_, index) => bytes.readUInt16BE(index * 2));
}

/** Registers that scripts read are from 100 on. */
const holding = (unitId: number, address: number): number => unitId * 1_000 + address;

function answerOf(unitId: number, unit: Unit, pdu: Buffer): Buffer {
  const [code = 0] = pdu;
  const exception = (number: number): Buffer => Buffer.of(code | 0x80, number);
  if (code === 43) {
    if (!unit.isIdentified) return exception(1);
    const name = Buffer.from(`vendor ${unitId}`);
    return Buffer.concat([Buffer.from([43, 14, 1, 1, 0, 0, 1, 0, name.length]), name]);
  }
  if (code !== 3 && code !== 4 && code !== 6) return exception(1);
  if (code === 6) return pdu;
  const [start, count] = [pdu.readUInt16BE(1), pdu.readUInt16BE(3)];
  const words: number[] = [];
  for (let address = start; address < start + count; address += 1) {
    const offset = unit.base === undefined ? -1 : address - unit.base;
    const model = [
      0x5375,
      0x6e53,
      1,
      66,
      ...textRegisters(`maker ${unitId}`, 16),
      ...textRegisters(`model ${unitId}`, 16),
    ];
    if (code === 3 && address >= 100 && address < 200) words.push(holding(unitId, address));
    else if (code === 3 && offset >= 0 && offset < 68) words.push(model[offset] ?? 0);
    else return exception(2);
  }
  const data = Buffer.alloc(words.length * 2);
  for (const [index, word] of words.entries()) data.writeUInt16BE(word, index * 2);
  return Buffer.concat([Buffer.of(code, data.length), data]);
}

/** The units of one line, each of which works on one question after the other. */
class Line {
  readonly writes: string[] = [];
  readonly #clock: TestClock;
  readonly #units: ReadonlyMap<number, Unit>;
  readonly #freeAtMs = new Map<number, number>();
  readonly #counts = new Map<number, number>();

  constructor(clock: TestClock, units: ReadonlyMap<number, Unit>) {
    this.#clock = clock;
    this.#units = units;
  }

  /** The unit that answers for that id. */
  behind(unitId: number): number | undefined {
    if (this.#units.has(unitId)) return unitId;
    return this.#units.get(unitId - 1)?.isDouble === true ? unitId - 1 : undefined;
  }

  ask(unitId: number, pdu: Buffer, answer: (pdu: Buffer) => void): void {
    if (pdu[0] === 6) this.writes.push(`${unitId} ${pdu.readUInt16BE(1)}`);
    const own = this.behind(unitId);
    const unit = own === undefined ? undefined : this.#units.get(own);
    if (own === undefined || unit === undefined) return;
    const count = this.#counts.get(own) ?? 0;
    this.#counts.set(own, count + 1);
    const workMs = unit.workMs[count % unit.workMs.length];
    if (workMs === undefined) return;
    const atMs = Math.max(this.#clock.monotonicMs(), this.#freeAtMs.get(own) ?? 0) + workMs;
    this.#freeAtMs.set(own, atMs);
    this.#clock.setTimer(atMs - this.#clock.monotonicMs(), () => answer(answerOf(own, unit, pdu)));
  }
}

function busOf(clock: TestClock, line: Line): FieldBus {
  return new FieldBus({
    clock,
    ports: { rs485: { path: '/dev/ttyUSB0', ...SETTINGS } },
    openSerialLine: () => (_, on) =>
      Promise.resolve({
        write: (bytes) => {
          const frame = decodeRtuFrame(bytes);
          if (frame)
            line.ask(frame.unitId, frame.pdu, (pdu) => on.onBytes(encodeRtuFrame(frame.unitId, pdu)));
          return Promise.resolve();
        },
        close: () => undefined,
      }),
    dial: () => {
      const { client, server } = streamPair();
      const reader = createTcpFrameReader();
      server.on('error', () => server.destroy());
      server.on('data', (chunk: Buffer) => {
        for (const frame of reader.read(chunk) ?? [])
          line.ask(frame.unitId, frame.pdu, (pdu) => {
            if (server.writable) server.write(encodeTcpFrame({ ...frame, pdu }));
          });
      });
      return Promise.resolve(client);
    },
  });
}

/** What goes on during a scan. */
interface Plan {
  uri: string;
  units: ReadonlyMap<number, Unit>;
  firstUnit: number;
  lastUnit: number;
  isScripted: boolean;
  /** Undefined: it is left to its end. */
  stoppedAfterMs: number | undefined;
}

const QUESTIONS = 12;

class Story {
  readonly problems: string[] = [];
  readonly findings: Extract<FromModule, { type: 'scan_unit' }>[] = [];
  readonly line: Line;
  answered = 0;
  readonly #clock = new TestClock();
  readonly #bus: FieldBus;
  readonly #plan: Plan;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.line = new Line(this.#clock, plan.units);
    this.#bus = busOf(this.#clock, this.line);
  }

  async play(): Promise<void> {
    const { isScripted } = this.#plan;
    const work = Promise.all([this.#scan(), isScripted ? this.#script() : undefined]);
    let isOver = false;
    const ended = work.then(() => void (isOver = true));
    const limitMs = this.#clock.monotonicMs() + FIELD.scanMs + 60_000;
    for (;;) {
      for (let turns = 0; turns < 6; turns += 1) await settle();
      if (isOver || this.#clock.waiting === 0 || this.#clock.monotonicMs() > limitMs) break;
      await this.#clock.advanceToNext();
    }
    if (isOver) await ended;
    else this.problems.push('it does not end');
    await this.#bus.close();
  }

  #scan(): Promise<void> {
    const { uri, firstUnit, lastUnit, stoppedAfterMs } = this.#plan;
    return new Promise((resolve) => {
      let isStopped = false;
      const scans = new Scans({
        bus: this.#bus,
        clock: this.#clock,
        limits: FIELD,
        send: (message) => {
          if (isStopped) this.problems.push('it says more after it was stopped');
          if (message.type === 'scan_unit') this.findings.push(message);
          else resolve();
        },
        onFault: (error) => this.problems.push(String(error)),
      });
      const units = { first_unit: firstUnit, last_unit: lastUnit };
      scans.start({ type: 'scan', id: 's', uri, ...units, timeout_ms: SCAN_MS });
      if (stoppedAfterMs === undefined) return;
      this.#clock.setTimer(stoppedAfterMs, () => {
        scans.stop('s');
        isStopped = true;
        resolve();
      });
    });
  }

  async #script(): Promise<void> {
    const client = this.#bus.modbus(this.#plan.uri);
    if (typeof client === 'string') return assert.fail(client);
    for (let count = 0; count < QUESTIONS; count += 1) {
      const unitId = unitAsked(count);
      const start = 100 + count;
      const isWrite = count % 4 === 3;
      const answer = await client.request(
        unitId,
        isWrite ? { kind: 'write_holding', start, values: [1] } : { kind: 'read_holdings', start, count: 2 },
        SCRIPT_MS,
      );
      const times = this.line.writes.filter((one) => one === `${unitId} ${start}`).length;
      if (isWrite && (answer.ok ? times !== 1 : times > 1)) this.problems.push(`a write ${times} times`);
      if (answer.ok) {
        this.answered += 1;
        const own = this.line.behind(unitId) ?? Number.NaN;
        if (!isWrite && answer.values[0] !== holding(own, start)) this.problems.push('a wrong value');
      } else if (answer.fault.kind !== 'timeout') this.problems.push(`the script gets ${answer.fault.kind}`);
      await this.#clock.sleep(20);
    }
  }
}

function unitAsked(count: number): number {
  return 1 + (count % 2);
}

/** What is said of units that are not so. */
function untruths({ findings, line }: Story): string[] {
  return findings.flatMap(({ unit_id: unitId, outcome, sunspec, identification }) => {
    const own = line.behind(unitId);
    const texts = [sunspec?.manufacturer, sunspec?.model, identification?.vendor];
    return [
      ...(own === undefined && outcome !== 'silent' ? [`unit ${unitId} is not there and ${outcome}`] : []),
      ...(outcome === 'garbled' ? [`unit ${unitId} is ${outcome}`] : []),
      ...texts.filter((text = ` ${own}`) => !text.endsWith(` ${own}`)).map(String),
    ];
  });
}

const UNIT: fc.Arbitrary<Unit> = fc.record({
  base: fc.constantFrom(40_000, 50_000, 0, undefined),
  isIdentified: fc.boolean(),
  // Some longer than the scan waits, none longer than the script does.
  workMs: fc.array(fc.constantFrom(5, 5, 20, 80, 130, 250, undefined), { minLength: 1, maxLength: 8 }),
  isDouble: fc.boolean(),
});
const UNITS = fc
  .dictionary(fc.constantFrom('1', '2', '3', '4'), UNIT, { minKeys: 1 })
  .map((units) => new Map(Object.entries(units).map(([id, unit]) => [Number(id), unit] as const)));
const RANGE = fc.constantFrom({ firstUnit: 1, lastUnit: 5 }, { firstUnit: 4, lastUnit: 4 });

for (const uri of ['port://rs485', 'tcp://converter'])
  describe(`a scan of ${uri}`, () => {
    test('a scan reports nothing wrong and disturbs no script when units are slow or lose questions', async () => {
      const stoppedAfter = fc.option(fc.integer({ min: 1, max: 800 }), { nil: undefined });
      await fc.assert(
        fc.asyncProperty(
          UNITS,
          RANGE,
          fc.boolean(),
          stoppedAfter,
          async (units, range, isScripted, stoppedAfterMs) => {
            const story = new Story({ uri, units, ...range, isScripted, stoppedAfterMs });
            await story.play();
            assert.deepEqual([...story.problems, ...untruths(story)], []);
          },
        ),
        { numRuns: runs(60) },
      );
    });

    test('a scan finds all units that answer at once, and takes no answer from a script', async () => {
      await fc.assert(
        fc.asyncProperty(UNITS, RANGE, fc.boolean(), async (slowUnits, range, isScripted) => {
          const units = new Map([...slowUnits].map(([id, unit]) => [id, { ...unit, workMs: [5] }]));
          const story = new Story({ uri, units, ...range, isScripted, stoppedAfterMs: undefined });
          await story.play();
          assert.deepEqual([...story.problems, ...untruths(story)], []);
          const { line, findings, answered } = story;
          for (const { unit_id: unitId, outcome, sunspec, identification } of findings) {
            const unit = units.get(line.behind(unitId) ?? 0);
            const isThere = outcome === 'answers' || outcome === 'exception';
            assert.deepEqual(
              [isThere, sunspec !== undefined, identification !== undefined],
              [unit !== undefined, unit?.base !== undefined, unit?.isIdentified === true],
            );
          }
          const there = Array.from({ length: QUESTIONS }, (_, count) => line.behind(unitAsked(count)));
          if (isScripted) assert.equal(answered, there.filter((own) => own !== undefined).length);
        }),
        { numRuns: runs(40) },
      );
    });
  });
