/**
 * Takes a prepared backup over at a start, before anything is opened. Each step may be the last one before a cut of power;
 * the next start goes on. What the disk refuses for good is put back, so that the gateway runs with what it had.
 */
import { readdirSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { LIMITS } from '../../lib/limits.ts';
import { inWordsAndDetail, isRefusal } from '../../lib/system-fault.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import {
  isLasting,
  isThere,
  makePrivateFolder,
  readNote,
  readPrivateFile,
  removeFile,
  removeTree,
  syncFolder,
  unlessAbsent,
  writePrivateFile,
} from '../files/index.ts';
import type { Log } from '../log/index.ts';
import {
  DOCUMENTS_FOLDER,
  HISTORY_FILE,
  JOURNAL_FOLDER,
  KEYS_FILE,
  REHEARSAL_FILE,
  STATE_FILE,
  TLS_FOLDER,
} from './layout.ts';

/** In the data folder: what the next start takes over. */
export const STAGE = 'restore';
/** In the stage: says that it is complete, where the state before it goes, and what it holds; a line each. */
export const READY = 'ready';
/** In the stage: it is given up, and what was taken over goes back; holds the reason. */
const BACK = 'back';
/** In the data folder: a letter for each start that the disk did not let take it over. */
export const TRIES = 'restore-tries';
/** In the data folder: folders of the state before restores, and of restores that were given up. */
export const ASIDE = 'before-restore';
const ASIDE_NAME = /^before-restore-\d+$/;
const GIVEN_UP = 'restore-given-up';
const NOTE = 'restore-not-done.json';
const TOLD_INTERVAL_MS = 3_600_000;

/**
 * The mark of a rehearsal first: the restored state is never without it. History last: without it the state works, and
 * beside state of another site it would be set aside.
 */
const CONTENT = [
  REHEARSAL_FILE,
  KEYS_FILE,
  STATE_FILE,
  TLS_FOLDER,
  DOCUMENTS_FOLDER,
  JOURNAL_FOLDER,
  HISTORY_FILE,
];

type Rename = (from: string, to: string) => void;

interface Options {
  dataDir: string;
  clock: Pick<Clock, 'wallMs'>;
  log: Log;
}

interface Plan {
  dataDir: string;
  stage: string;
  /** Name and path of the folder for the state before. */
  asideName: string;
  aside: string;
  names: readonly string[];
  /** False: where an earlier start put the state before is not known. */
  isNoted: boolean;
  rename: Rename;
}

/** Why a backup could not be put back. */
interface NotDone {
  reason: string;
  foundAtMs: EpochMs;
}

export function readyText(stage: string, aside: string): string {
  return [aside, ...CONTENT.filter((name) => isThere(join(stage, name)))].join('\n');
}

/** A name that is not in use: a clock that stands gives the same second twice. */
export function unusedName(dataDir: string, head: string, wallMs: EpochMs): string {
  let seconds = Math.floor(wallMs / 1_000);
  while (isThere(join(dataDir, `${head}-${seconds}`))) seconds += 1;
  return `${head}-${seconds}`;
}

/**
 * Puts a prepared restore in place, and keeps the former data beside it; false when there was none, or it was given up.
 * @throws Error of the disk while another start may succeed, or while the former data cannot be put back
 */
export function applyRestore(options: Options, rename: Rename = renameSync): boolean {
  const { dataDir, log } = options;
  const note = noteIn(dataDir);
  let plan: Plan | undefined;
  try {
    plan = note === undefined ? undefined : planOf(options, note, rename);
    if (plan?.isNoted && isThere(join(plan.stage, BACK))) return giveUp(options, plan);
    if (plan) takeOver(plan);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (!isLasting(error) && isWorthAnotherStart(dataDir)) throw error;
    return giveUp(options, plan, error);
  }
  if (plan) {
    log.warn('backup restored; the state before it was kept', { aside: plan.aside });
    removeOlder(options, ASIDE, plan.asideName, LIMITS.backup.asideKept);
  }
  for (const name of [STAGE, TRIES, ...(plan ? [NOTE] : [])]) isRemoved(join(dataDir, name), log);
  return plan !== undefined;
}

/** Why the last restore was not done, if that was found after a moment; an unreadable note is logged. */
export function restoreFaultSince(
  fromMs: EpochMs,
  { dataDir, log }: Omit<Options, 'clock'>,
): string | undefined {
  const path = join(dataDir, NOTE);
  const sentence = 'the note of a restore cannot be read, so nobody is told of one';
  const note = readNote(path, (error) =>
    log.warnLimited(path, TOLD_INTERVAL_MS, sentence, { path, error }),
  ) as NotDone | undefined;
  return note && note.foundAtMs > fromMs ? note.reason : undefined;
}

/**
 * Undefined: nothing is to be taken over. Empty: something is, and the disk does not give its note. @throws what the disk
 * refuses, as long as it is worth another start
 */
function noteIn(dataDir: string): string | undefined {
  try {
    return readPrivateFile(join(dataDir, STAGE, READY));
  } catch (error) {
    if (!isRefusal(error) || (!isLasting(error) && isWorthAnotherStart(dataDir))) throw error;
    return '';
  }
}

/**
 * The note is the last that is written: with it the stage was complete. One that is damaged does not tell where an earlier
 * start has put a part of the state before; what is still in the stage belongs to what that start took over, so only the
 * way forward ends with all of one state.
 */
function planOf({ dataDir, clock }: Options, note: string, rename: Rename): Plan | undefined {
  const stage = join(dataDir, STAGE);
  // The disk fails, and there never was a note.
  if (!isThere(stage)) return undefined;
  const [noted = '', ...notedNames] = note.split('\n');
  const isNoted = ASIDE_NAME.test(noted);
  const asideName = isNoted ? noted : unusedName(dataDir, ASIDE, clock.wallMs());
  const aside = join(dataDir, asideName);
  const isPresent = (name: string): boolean => [stage, aside].some((folder) => isThere(join(folder, name)));
  const names = isNoted ? notedNames : CONTENT.filter(isPresent);
  return { dataDir, stage, asideName, aside, names, isNoted, rename };
}

/** The write-ahead log first: it must never be found beside another database. */
const partsOf = (name: string): string[] => [`${name}-shm`, `${name}-wal`, name];

function takeOver({ dataDir, stage, aside, names, rename }: Plan): void {
  makePrivateFolder(aside);
  for (const name of names) {
    if (!isThere(join(stage, name))) continue;
    for (const part of partsOf(name))
      if (isThere(join(dataDir, part))) rename(join(dataDir, part), join(aside, part));
    syncFolder(dataDir);
    rename(join(stage, name), join(dataDir, name));
    syncFolder(dataDir);
  }
  // A restore that is none itself ends a rehearsal, once all else is in its place.
  if (!names.includes(REHEARSAL_FILE)) moveMark(dataDir, aside, rename);
}

function moveMark(from: string, to: string, rename: Rename): void {
  if (!isThere(join(from, REHEARSAL_FILE))) return;
  rename(join(from, REHEARSAL_FILE), join(to, REHEARSAL_FILE));
  syncFolder(to);
}

/** The way back, from the last step to the first. */
function putBack({ dataDir, stage, aside, names, rename }: Plan): void {
  if (!names.includes(REHEARSAL_FILE)) moveMark(aside, dataDir, rename);
  for (const name of names.toReversed()) {
    if (!isThere(join(stage, name)) && isThere(join(dataDir, name)))
      rename(join(dataDir, name), join(stage, name));
    syncFolder(stage);
    for (const part of partsOf(name).toReversed())
      if (isThere(join(aside, part))) rename(join(aside, part), join(dataDir, part));
    syncFolder(dataDir);
  }
}

/** Counted on the disk; one that does not even take this gets no more tries. */
function isWorthAnotherStart(dataDir: string): boolean {
  const path = join(dataDir, TRIES);
  try {
    const tries = `${readPrivateFile(path) ?? ''}x`;
    writePrivateFile(path, tries);
    return tries.length < LIMITS.backup.restoreTries;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return false;
  }
}

/** The files to be put back are kept, and no later start takes them over: by then much may have changed. */
function giveUp(options: Options, plan: Plan | undefined, error?: unknown): false {
  const { dataDir, clock, log } = options;
  const stage = join(dataDir, STAGE);
  const mark = join(stage, BACK);
  const reason = error === undefined ? (readPrivateFile(mark) ?? '') : inWordsAndDetail(error);
  if (plan) {
    // A start that a cut of power ends in between goes on with it; without the mark it tries once more.
    isDone('it cannot be noted that a backup is not put back', log, () => writePrivateFile(mark, reason));
    putBack(plan);
    isDone('an empty folder of a restore stays', log, () => unlessAbsent(() => rmdirSync(plan.aside)));
  }
  if (!plan?.isNoted && !isThere(join(dataDir, STATE_FILE))) throw halfway(dataDir, reason, error);
  const name = unusedName(dataDir, GIVEN_UP, clock.wallMs());
  const kept = join(dataDir, name);
  const isKept = isDone('the backup that was not put back cannot be set aside', log, () => {
    renameSync(stage, kept);
    removeFile(join(dataDir, TRIES));
  });
  log.error('the backup was not put back, the gateway goes on with what it had', {
    reason,
    kept: isKept ? kept : stage,
  });
  isDone('the note of a restore cannot be written', log, () =>
    writePrivateFile(join(dataDir, NOTE), JSON.stringify({ reason, foundAtMs: clock.wallMs() })),
  );
  if (isKept) removeOlder(options, GIVEN_UP, name, 1);
  return false;
}

const halfway = (dataDir: string, reason: string, cause: unknown): Error =>
  new Error(
    `A backup is put back by half, and the disk refuses the rest: ${reason}. Mend the disk; or take ` +
      `${join(dataDir, STAGE)} away, and move what is in the newest folder ${ASIDE}-… beside it back into ${dataDir}.`,
    { cause },
  );

/** Does what is worth no other start. */
function isDone(otherwise: string, log: Log, work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    log.warn(otherwise, { error });
    return false;
  }
}

/** A folder that cannot be removed takes room, but does not end the start. */
const isRemoved = (path: string, log: Log): boolean =>
  isDone(`what a restore left cannot be removed: ${path}`, log, () => removeTree(path));

/** The rests of earlier restores may hold whole histories. The clock may have been wrong: the last one always stays. */
function removeOlder({ dataDir, log }: Options, head: string, last: string, kept: number): void {
  const secondsOf = (name: string): number => Number(name.slice(head.length + 1));
  const older = readdirSync(dataDir)
    .filter((name) => name.startsWith(`${head}-`) && secondsOf(name) >= 0 && name !== last)
    .toSorted((a, b) => secondsOf(b) - secondsOf(a))
    .slice(kept - 1);
  for (const name of older) {
    const path = join(dataDir, name);
    if (isRemoved(path, log))
      log.warn(
        `${head === ASIDE ? 'the state before an earlier restore' : 'an earlier backup that was not put back'} was removed`,
        { path },
      );
  }
}
