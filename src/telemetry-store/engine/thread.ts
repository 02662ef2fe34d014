/**
 * The thread of the telemetry store. Only it writes the telemetry tables of history.db; the gateway's thread writes the
 * journal and sends requests.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { EpochMs } from '../../lib/time.ts';
import { SerialQueue } from '../../lib/serial-queue.ts';
import { createSystemClock, nextTurn } from '../../platform/clock/index.ts';
import { isDiskLow } from '../../platform/host/index.ts';
import { readCompanion, readJournal } from '../journal/index.ts';
import type { Log, LogFields, LogLevel } from '../../platform/log/index.ts';
import { isDamage, openDatabase } from '../../platform/sqlite/index.ts';
import { connectThread } from '../../platform/threads/index.ts';
import { answer, type Piece } from '../query/answer.ts';
import { createBlockStore } from './block-store.ts';
import { Engine } from './engine.ts';
import type { EngineThreadData, FromEngine, ToEngine } from './messages.ts';
import { readSeriesCopy } from '../codec/series.ts';

const MAINTENANCE_INTERVAL_MS = 1_000;
const STATUS_INTERVAL_MS = 10_000;
/** G: pieces of an answer that are sent before the reader takes one. */
const PIECES_AHEAD = 4;

const { post, onMessage, close } = connectThread<undefined, ToEngine, FromEngine>();
const data = await new Promise<EngineThreadData>((resolve) =>
  onMessage((message) => {
    if (message.kind === 'open') resolve(message.data);
  }),
);
const clock = createSystemClock();
const log = createThreadLog();
const database = openDatabase({ path: data.databasePath, migrationsDir: data.migrationsDir, clock, log });
const store = createBlockStore(database);
/** As the gateway's thread sent it last: it may be behind by the interval, but never ahead. */
let provenMs: EpochMs | undefined;
const engine = new Engine({
  store,
  seriesCopy: readSeriesCopy(readCompanion(data.journalFolder, data.acceptsRefused)),
  readJournal: (afterSequence, onDamage) => readJournal(data.journalFolder, afterSequence, onDamage, data),
  onSealed: (fromSequence, nextSeriesId) => post({ kind: 'sealed', fromSequence, nextSeriesId }),
  policy: data.policy,
  ...(data.room && { room: data.room }),
  isDiskLow: () => isDiskLow(data.databasePath, LIMITS.disk),
  provenMs: () => provenMs,
  clock,
  log,
  limits: { ...LIMITS.telemetry, openSamples: data.openSamples ?? LIMITS.telemetry.openSamples },
  pause,
});
const queries = new Map<number, RunningQuery>();
/** Maintenance and sealing run one after the other. */
const work = new SerialQueue();
let isMaintenanceDue = false;
let isStopping = false;
let appliedSequence = 0;

/**
 * Lets other work of the thread run. Never resolves once the thread stops: the rest of maintenance, which may take
 * minutes, is done after the next start.
 */
async function pause(): Promise<void> {
  await nextTurn();
  if (isStopping) await new Promise<never>(() => undefined);
}

function maintain(): void {
  if (isMaintenanceDue) return;
  isMaintenanceDue = true;
  void work.run(async () => {
    isMaintenanceDue = false;
    await engine.maintain().catch(endWith);
    acknowledge();
    postStatusChange();
  });
}

/** Ends the thread: the owner of the file repairs damage once it has ended. */
function endWith(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

function postStatus(): void {
  post({ kind: 'status', status: engine.status() });
}

function postStatusChange(): void {
  if (engine.takeStatusChange()) postStatus();
}

/** An overloaded store sends nothing, so that no further records come. */
function acknowledge(): void {
  if (!engine.isOverloaded) post({ kind: 'applied', sequence: appliedSequence });
}

function apply(sequence: number, record: Uint8Array): void {
  engine.apply(sequence, record);
  appliedSequence = sequence;
  acknowledge();
  if (engine.isSealDue) maintain();
}

interface RunningQuery {
  credit: number;
  wake: (() => void) | undefined;
  isCancelled: boolean;
}

async function answerQuery({ id, plan }: Extract<ToEngine, { kind: 'query' }>): Promise<void> {
  const query: RunningQuery = { credit: PIECES_AHEAD, wake: undefined, isCancelled: false };
  queries.set(id, query);
  try {
    if (!(await postPieces(id, query, answer(plan, engine.source)))) post({ kind: 'done', id });
  } catch (error) {
    noteFailure(error);
    post({ kind: 'done', id, error: String(error) });
  } finally {
    queries.delete(id);
    postStatusChange();
  }
}

/** Resolves with true when no `done` must follow: the last piece was marked, or the query is cancelled. */
async function postPieces(
  id: number,
  query: RunningQuery,
  pieces: Generator<Piece | undefined>,
): Promise<boolean> {
  for (let next = pieces.next(); !next.done;) {
    const piece = next.value;
    if (piece !== undefined) {
      // The next step shows whether it is the last one.
      next = pieces.next();
      const isLast = next.done === true;
      post(
        { kind: 'piece', id, piece, isLast },
        piece instanceof Uint8Array ? [piece.buffer as ArrayBuffer] : [],
      );
      if (isLast) return true;
      query.credit--;
    }
    while (query.credit <= 0 && !query.isCancelled)
      await new Promise<void>((resolve) => {
        query.wake = resolve;
      });
    if (query.isCancelled) return true;
    await pause();
    if (piece === undefined) next = pieces.next();
  }
  return false;
}

function readChanges({ id, plan }: Extract<ToEngine, { kind: 'changes' }>): void {
  try {
    const changes = engine.changes.read(plan);
    const memory = new Set(changes.series.map(({ times }) => times.buffer as ArrayBuffer));
    post({ kind: 'done', id, changes }, [...memory]);
  } catch (error) {
    noteFailure(error);
    post({ kind: 'done', id, error: String(error) });
  }
}

function noteFailure(error: unknown): void {
  log.error('telemetry could not be read', { error });
  if (isDamage(error)) endWith(error);
}

async function seal(id: number): Promise<void> {
  try {
    await work.run(() => engine.seal());
    store.checkpoint();
    post({ kind: 'done', id });
  } catch (error) {
    post({ kind: 'done', id, error: String(error) });
  }
}

function stop(): void {
  isStopping = true;
  maintenanceTimer.cancel();
  statusTimer.cancel();
  store.close();
  clock.close();
  post({ kind: 'stopped' });
  close();
}

onMessage((message) => {
  switch (message.kind) {
    case 'open':
      break;
    case 'record':
      apply(message.sequence, message.record);
      break;
    case 'proven':
      ({ provenMs } = message);
      break;
    case 'room':
      engine.setRoom(message.room);
      maintain();
      break;
    case 'query':
      void answerQuery(message);
      break;
    case 'more':
    case 'cancel': {
      const query = queries.get(message.id);
      if (!query) break;
      if (message.kind === 'more') query.credit++;
      else query.isCancelled = true;
      query.wake?.();
      break;
    }
    case 'seal':
      void seal(message.id);
      break;
    case 'changes':
      readChanges(message);
      break;
    case 'keep_changes':
      engine.changes.keep(message.sequence);
      break;
    case 'stop':
      stop();
      break;
  }
});

const content = engine.load();
appliedSequence = content.lastSequence;
post({ kind: 'ready', content });
postStatus();
const maintenanceTimer = clock.setRepeating(MAINTENANCE_INTERVAL_MS, maintain);
const statusTimer = clock.setRepeating(STATUS_INTERVAL_MS, postStatus);

/** Sends its lines to the log of the gateway. */
function createThreadLog(): Log {
  const limitedUntilMs = new Map<string, number>();
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void =>
      post({ kind: 'log', level, message, fields });
  const own: Log = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
    warnLimited: (key, intervalMs, message, fields) => {
      const nowMs = clock.monotonicMs();
      if (nowMs < (limitedUntilMs.get(key) ?? 0)) return;
      limitedUntilMs.set(key, nowMs + intervalMs);
      own.warn(message, fields);
    },
    child: () => own,
  };
  return own;
}
