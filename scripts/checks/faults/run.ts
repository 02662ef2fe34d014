/** The fault check: faults by chance, one after the other, each followed by reading back everything acknowledged. */
import type { Clock } from '../../../src/platform/clock/index.ts';
import { messageOf } from '../../../src/lib/errors.ts';
import type { Problem } from '../world/journal.ts';
import type { Verdict } from '../world/verify.ts';
import type { Program } from '../../support/gateway-process.ts';
import { createRandom, type Random } from '../../support/random.ts';
import { Box } from './box.ts';
import type { Plant } from './control.ts';
import { missingForDisks } from './disk.ts';
import type { FaultKind } from './kind.ts';

export interface FaultCheckOptions {
  seed: number;
  /** Ends after so many faults, or when the time is over. */
  faults: number;
  durationMs: number;
  kinds: readonly FaultKind[];
  devices: number;
  attributes: number;
  program: Program;
  plants: readonly Plant[];
  /** Ends after the fault that is going on, so that no process and no mount is left. */
  signal?: AbortSignal;
  clock: Clock;
  say: (text: string) => void;
  onFault: (report: FaultReport) => void;
}

export interface FaultReport extends Omit<Verdict, 'problems'> {
  number: number;
  kind: string;
  /** Changes by people. */
  changes: number;
  tookMs: number;
  problems: Problem[];
}

/** Faults that one box lives through: all that it acknowledged is read back after each, which takes ever longer. */
const BOX_FAULTS = 60;
const LOG_LINES = 3;
/** Work between two faults. */
const WORK_MS = { least: 300, most: 1_500 };

/** @returns every problem found, empty when nothing acknowledged was lost, doubled or forgotten */
export async function faultCheck(options: FaultCheckOptions): Promise<Problem[]> {
  const { clock, durationMs, faults, say } = options;
  const random = createRandom(options.seed);
  const kinds = possibleKinds(options.kinds, say);
  const openBox = (number: number): Promise<Box> => Box.open({ ...options, random: random.fork(number) });
  let box = await openBox(1);
  const endMs = clock.monotonicMs() + durationMs;
  const problems: Problem[] = [];
  try {
    const order = shuffledForever(kinds, random.fork(2));
    for (
      let number = 1;
      number <= faults && clock.monotonicMs() < endMs && !options.signal?.aborted;
      number++
    ) {
      if (box.isLost || (number % BOX_FAULTS === 1 && number > 1)) {
        await box.close();
        box = await openBox(number);
      }
      const report = await meet(box, number, order());
      options.onFault(report);
      problems.push(...report.problems);
    }
    return problems;
  } finally {
    await box.close();
  }
}

/** @throws Error when none is left */
function possibleKinds(wanted: readonly FaultKind[], say: (text: string) => void): FaultKind[] {
  const missing = missingForDisks();
  const left = missing.length === 0 ? [...wanted] : wanted.filter(({ needsDisk }) => !needsDisk);
  const without = wanted.filter((kind) => !left.includes(kind)).map(({ name }) => name);
  if (without.length > 0) say(`without ${without.join(', ')}: missing ${missing.join(', ')}`);
  if (left.length === 0) throw new Error('none of these faults can be brought about here');
  return left;
}

/** Each kind once before any comes again, in an order by chance. */
function shuffledForever(kinds: readonly FaultKind[], random: Random): () => FaultKind {
  let left: FaultKind[] = [];
  return () => {
    if (left.length === 0) left = [...kinds];
    const chosen = random.pick(left);
    left = left.filter((kind) => kind !== chosen);
    return chosen;
  };
}

async function meet(box: Box, number: number, kind: FaultKind): Promise<FaultReport> {
  const { clock } = box;
  const startedMs = clock.monotonicMs();
  const logOffset = box.logSize();
  await clock.sleep(box.random.between(WORK_MS.least, WORK_MS.most));
  const problems = await tried(
    () => kind.run(box),
    () => box.recover(),
  );
  await box.rest();
  let verdict: Verdict = { samples: 0, logs: 0, settings: 0, properties: 0, executions: 0, problems: [] };
  problems.push(
    ...(await tried(async () => {
      verdict = await box.verify();
      return verdict.problems;
    })),
  );
  box.resume();
  if (problems.length > 0) problems.push(...errorsOf(box, logOffset));
  return {
    ...verdict,
    number,
    kind: kind.name,
    changes: box.people.acknowledgedCount,
    tookMs: clock.monotonicMs() - startedMs,
    problems: problems.map(({ kind: what, item }) => ({ kind: what, item: `${kind.name}: ${item}` })),
  };
}

/** What the gateway itself said of it. */
function errorsOf(box: Box, logOffset: number): Problem[] {
  return box
    .logSince(logOffset)
    .filter(({ level }) => level === 'error' || level === 'fatal')
    .slice(-LOG_LINES)
    .map((line) => ({ kind: 'stop', item: `its log: ${JSON.stringify(line).slice(0, 600)}` }));
}

/** A gateway that does not serve any more, or answers nonsense, is a problem like others. */
async function tried(work: () => Promise<Problem[]>, mend?: () => Promise<void>): Promise<Problem[]> {
  try {
    return await work();
  } catch (error) {
    const item = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
    const mended = mend ? await tried(() => mend().then(() => [])) : [];
    return [{ kind: 'stop', item }, ...mended];
  }
}
