/** Outputs and buses of a board whose programs refuse, hang, die and say nonsense, at random. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { LIMITS } from '../../../src/lib/limits.ts';
import { CanBus } from '../../../src/field-module/field/can-bus.ts';
import { DigitalOutput } from '../../../src/field-module/field/digital-output.ts';
import { PortFault } from '../../../src/field-module/field/modbus-fault.ts';
import {
  ProgramFailure,
  type RunningProgram,
  type SystemPrograms,
} from '../../../src/field-module/field/system-program.ts';
import { runs } from '../../support/runs.ts';
import { settle, TestClock } from '../../support/test-clock.ts';

const FIELD = LIMITS.field;

/** Lets time pass until the promise is settled, or for so long. */
async function played(clock: TestClock, work: Promise<unknown>, limitMs: number): Promise<boolean> {
  let isOver = false;
  const mark = (): void => void (isOver = true);
  work.then(mark, mark);
  const endMs = clock.monotonicMs() + limitMs;
  for (;;) {
    for (let turns = 0; turns < 3; turns += 1) await settle();
    if (isOver || clock.waiting === 0 || clock.monotonicMs() > endMs) return isOver;
    await clock.advanceToNext();
  }
}

/** How one start of `gpioset`, or one run of `gpioget`, goes. */
interface Fate {
  kind: 'works' | 'is refused' | 'hangs' | 'dies later' | 'says nonsense';
  afterMs: number;
}

/** One line of a chip. Nobody holds it: it falls back to low. */
class Chip implements SystemPrograms {
  level = false;
  holder: object | undefined;
  readonly #clock: TestClock;
  readonly #fates: readonly Fate[];
  #count = 0;
  isWell = false;

  constructor(clock: TestClock, fates: readonly Fate[]) {
    this.#clock = clock;
    this.#fates = fates;
  }

  start(_: string, args: readonly string[], onLine: (line: string) => void): RunningProgram {
    const isOn = args.at(-1)?.endsWith('=1') === true;
    const { kind, afterMs } = this.#fate();
    const own = {};
    const { promise: ended, resolve: end } = Promise.withResolvers<string>();
    let isOver = false;
    const stop = (reason = 'gpioset ended'): void => {
      if (isOver) return;
      isOver = true;
      if (this.holder === own) {
        this.holder = undefined;
        this.level = false;
      }
      end(reason);
    };
    this.#clock.setTimer(1, () => {
      if (isOver || kind === 'hangs') return;
      if (kind === 'is refused' || this.holder !== undefined) return stop('the line is busy');
      this.holder = own;
      this.level = isOn;
      onLine('Setting line...');
      if (kind === 'dies later') this.#clock.setTimer(afterMs, () => stop());
    });
    return { ended, stop: () => stop() };
  }

  async run(): Promise<string> {
    const { kind } = this.#fate();
    await this.#clock.sleep(1);
    if (this.holder !== undefined || kind === 'is refused') throw new ProgramFailure('the line is busy', '');
    if (kind === 'hangs') throw new ProgramFailure('gpioget does not end', undefined);
    return kind === 'says nonsense' ? '\n' : `${this.level ? 1 : 0}\n`;
  }

  #fate(): Fate {
    const fate = this.#fates[this.#count % this.#fates.length];
    this.#count += 1;
    return this.isWell || fate === undefined ? { kind: 'works', afterMs: 0 } : fate;
  }
}

const FATES = fc.array(
  fc.record({
    kind: fc.constantFrom<Fate['kind'][]>(
      'works',
      'works',
      'works',
      'is refused',
      'hangs',
      'dies later',
      'says nonsense',
    ),
    afterMs: fc.constantFrom(1, 100, 3_000),
  }),
  { minLength: 1, maxLength: 12 },
);
const STEPS = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('set' as const), isOn: fc.boolean() }),
    fc.record({ do: fc.constant('impulse' as const), durationMs: fc.constantFrom(20, 1_000) }),
    fc.record({ do: fc.constant('ask' as const) }),
    fc.record({ do: fc.constant('pause' as const), durationMs: fc.constantFrom(5, 300, 2_000) }),
  ),
  { minLength: 1, maxLength: 8 },
);

describe('an output of a board', () => {
  test('an output of a board has the level of the last change that was done, and reports no other, whatever its programs do', async () => {
    await fc.assert(
      fc.asyncProperty(STEPS, FATES, async (steps, fates) => {
        const clock = new TestClock();
        const chip = new Chip(clock, fates);
        const output = new DigitalOutput({
          programs: chip,
          clock,
          limits: FIELD,
          onFailed: () => undefined,
          onWorking: () => undefined,
          chip: '/dev/gpiochip0',
          line: 1,
          isActiveLow: false,
        });
        /** Undefined: nobody has set it. */
        let wanted: boolean | undefined;
        let impulse: { before: boolean; untilMs: number } | undefined;
        const level = (): boolean | undefined =>
          impulse === undefined
            ? wanted
            : clock.monotonicMs() < impulse.untilMs
              ? !impulse.before
              : impulse.before;
        const attempt = async (change: Promise<void>): Promise<boolean> => {
          let isDone = false;
          const said = change.then(
            () => void (isDone = true),
            (error: unknown) => assert.ok(error instanceof PortFault),
          );
          assert.ok(await played(clock, said, 60_000), 'a call ends');
          return isDone;
        };
        for (const step of steps) {
          if (step.do === 'pause') await clock.advance(step.durationMs);
          if (step.do === 'set' && (await attempt(output.set(step.isOn)))) {
            [wanted, impulse] = [step.isOn, undefined];
            assert.equal(chip.level, step.isOn);
          }
          if (step.do === 'impulse') {
            const now = clock.monotonicMs();
            const before =
              impulse !== undefined && now < impulse.untilMs ? impulse.before : (level() ?? false);
            if (await attempt(output.impulse(step.durationMs)))
              impulse = { before, untilMs: clock.monotonicMs() + step.durationMs };
          }
          if (step.do === 'ask') {
            const told = output.isOn();
            await attempt(told.then(() => undefined));
            // It has been judged above.
            const answer = await told.catch(() => undefined);
            if (answer !== undefined) assert.equal(answer, chip.level, 'what is told is so');
          }
        }
        chip.isWell = true;
        await clock.advance(60_000);
        const last = level();
        if (last !== undefined) {
          assert.equal(chip.level, last);
          assert.ok(chip.holder);
        }
        assert.ok(await played(clock, output.close(), 60_000));
      }),
      { numRuns: runs(100) },
    );
  });
});

describe('a CAN bus', () => {
  const SENDERS = fc.array(
    fc.record({
      kind: fc.constantFrom<('works' | 'is full' | 'hangs')[]>('works', 'is full', 'hangs'),
      room: fc.nat({ max: 4 }),
    }),
    { minLength: 1, maxLength: 6 },
  );
  const SENDS = fc.array(
    fc.record({ pauseMs: fc.constantFrom(0, 0, 0, 1, 700), patienceMs: fc.constantFrom(3, 2_000, 60_000) }),
    { minLength: 1, maxLength: 20 },
  );

  test('a CAN bus sends a frame once, in time, and not at all when it says so', async () => {
    await fc.assert(
      fc.asyncProperty(SENDS, SENDERS, async (sends, senders) => {
        const clock = new TestClock();
        const sent: { id: number; atMs: number }[] = [];
        const hung = new Set<number>();
        let count = 0;
        const bus = new CanBus({
          clock,
          limits: FIELD,
          interfaceName: 'can0',
          onFailed: () => undefined,
          onWorking: () => undefined,
          programs: {
            start: () => assert.fail('nobody listens'),
            run: async (_, __, { input = '', timeoutMs }) => {
              const { kind, room } = senders[count % senders.length] ?? assert.fail();
              count += 1;
              const ids = [...input.matchAll(/ can0 ([0-9A-F]+)#/g)].map(([, id = '']) =>
                Number.parseInt(id, 16),
              );
              const out = kind === 'works' ? ids : ids.slice(0, room);
              const atMs = clock.monotonicMs();
              sent.push(...out.map((id) => ({ id, atMs })));
              if (kind === 'hangs') for (const id of ids) hung.add(id);
              await clock.sleep(kind === 'hangs' ? timeoutMs : 2);
              const said = out.map((id) => `can0 (can0)  ${id.toString(16)}   [0]\n`).join('');
              if (kind === 'hangs') throw new ProgramFailure('canplayer does not end', undefined);
              if (out.length < ids.length) throw new ProgramFailure('No buffer space available', said);
              return said;
            },
          },
        });
        const outcomes: Promise<void>[] = [];
        const problems: string[] = [];
        for (const [index, { pauseMs, patienceMs }] of sends.entries()) {
          const own = index + 1;
          const untilMs = clock.monotonicMs() + patienceMs;
          const judge = (most: number, least: number): void => {
            const out = sent.filter(({ id }) => id === own);
            if (out.length > most || out.length < least) problems.push(`frame ${own} ${out.length} times`);
            if (out.some(({ atMs }) => atMs >= untilMs)) problems.push(`frame ${own} too late`);
          };
          const isWanted = (): boolean => clock.monotonicMs() < untilMs;
          const outcome = bus.send(own, new Uint8Array(), isWanted).then(
            () => judge(1, 1),
            (error: unknown) =>
              error instanceof PortFault ? judge(hung.has(own) ? 1 : 0, 0) : problems.push(String(error)),
          );
          outcomes.push(outcome.then(() => undefined));
          if (pauseMs > 0) await clock.advance(pauseMs);
        }
        assert.ok(await played(clock, Promise.all(outcomes), 600_000), 'every call ends');
        assert.deepEqual(problems, []);
        const ids = sent.map(({ id }) => id);
        assert.deepEqual(
          ids,
          ids.toSorted((one, other) => one - other),
        );
      }),
      { numRuns: runs(100) },
    );
  });
});
