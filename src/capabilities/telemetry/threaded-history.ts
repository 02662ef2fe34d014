/** The store in its thread, as the gateway's thread sees it: restarted when it fails, slowed when it lags. */
import { DoublingPause } from '../../lib/doubling-pause.ts';
import { gatewayError } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { DegradableDatabase } from '../../platform/sqlite/index.ts';
import { startThread, type Thread } from '../../platform/threads/index.ts';
import type { EngineContent, EngineStatus } from './engine.ts';
import { wholeRoom } from './store-room.ts';
import type { EngineThreadData, FromEngine, ToEngine } from './engine-messages.ts';
import type { History, HistoryEvents } from './history.ts';
import { createQueries } from './queries.ts';

/** Ages are counted in days. */
const PROVEN_INTERVAL_MS = 60_000;

export interface ThreadedHistoryOptions extends EngineThreadData {
  /** Absolute path of the thread's module: `programEntry('capabilities/telemetry/engine-thread')`. */
  entry: string;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits: Limits['telemetry'];
  /** Says when the file can be opened, and is told of its damage; absent: it can be opened always. */
  file?: Pick<DegradableDatabase, 'join' | 'report' | 'failure'>;
}

export function createThreadedHistory(options: ThreadedHistoryOptions): History {
  const { entry, clock, log, metrics, limits, file, ...data } = options;
  let room = options.room ?? wholeRoom(options.policy);
  const restarts = metrics.counter('telemetry_store_restarts_total', 'Restarts of the thread of the store.');
  const queries = createQueries({ limits, metrics, post });
  const backlog = createBacklog(() => Math.min(limits.storeBacklogBytes, room.journalMaxBytes / 4));
  metrics.gauge('telemetry_store_backlog_bytes', 'Journal records on their way to the store.', [], (gauge) =>
    gauge.set(backlog.sizeBytes()),
  );
  let telling: Timer | undefined;
  let thread: Thread | undefined;
  let events: HistoryEvents | undefined;
  let status: EngineStatus | undefined;
  let isReady = false;
  let isStopping = false;
  let restartTimer: Timer | undefined;
  const restartPause = new DoublingPause({
    firstMs: limits.storeRestartFirstMs,
    maxMs: limits.storeRestartMaxMs,
  });
  let started: PromiseWithResolvers<EngineContent | undefined> | undefined;
  let leave: (() => void) | undefined;
  let isReleased = false;
  let stopped: PromiseWithResolvers<void> | undefined;

  function post(message: ToEngine): void {
    thread?.post(message);
  }

  function launch(): void {
    isReady = false;
    thread = startThread({
      entry,
      data: { ...data, room },
      heapMaxMib: limits.storeHeapMib,
      youngHeapMaxMib: limits.storeYoungHeapMib,
      onMessage: (message) => receive(message as FromEngine),
      onExit: exited,
    });
  }

  function exited(error: Error | undefined): void {
    thread = undefined;
    isReady = false;
    stopped?.resolve();
    queries.failAll();
    if (isStopping || isReleased) return;
    log.error('thread of the telemetry store failed, starts again', { error });
    restarts.inc();
    restartTimer = clock.setTimer(restartPause.next(), launch);
    file?.report(error);
    started?.resolve(undefined);
    started = undefined;
  }

  /** The file is about to be replaced; what is not on disk stands in the journal. */
  async function release(): Promise<void> {
    isReleased = true;
    restartTimer?.cancel();
    await thread?.terminate();
  }

  function opened(): void {
    if (isStopping || (thread && !isReleased)) return;
    isReleased = false;
    restartTimer?.cancel();
    launch();
  }

  function tellProven(): void {
    const provenMs = clock.proven.nowMs();
    if (provenMs !== undefined) post({ kind: 'proven', provenMs });
  }

  function receive(message: FromEngine): void {
    switch (message.kind) {
      case 'ready':
        becomeReady(message.content);
        break;
      case 'applied':
        backlog.applied(message.sequence);
        break;
      case 'rows':
      case 'done':
        queries.receive(message);
        break;
      case 'sealed':
        restartPause.reset();
        events?.onSealed(message.fromSequence, message.nextSeriesId);
        break;
      case 'status':
        status = message.status;
        break;
      case 'log':
        log[message.level](message.message, message.fields);
        break;
      case 'stopped':
        stopped?.resolve();
        break;
    }
  }

  function becomeReady(content: EngineContent): void {
    isReady = true;
    tellProven();
    if (started) started.resolve(content);
    else events?.onReady(content);
    started = undefined;
    // Records that came while it was away: it read those that were in the journal by then.
    backlog.applied(content.lastSequence);
    for (const { sequence, record } of backlog.records()) post({ kind: 'record', sequence, record });
  }

  return {
    start: (given) => {
      events = given;
      started = Promise.withResolvers<EngineContent | undefined>();
      const { promise } = started;
      telling = clock.setRepeating(PROVEN_INTERVAL_MS, tellProven);
      if (!file) launch();
      else {
        leave = file.join({ release, opened });
        if (file.failure) started.resolve(undefined);
        if (file.failure) started = undefined;
      }
      return promise;
    },
    apply: (sequence, record) => {
      const wait = backlog.add(sequence, record);
      if (isReady) post({ kind: 'record', sequence, record });
      return wait;
    },
    rows: (plan, signal) => {
      if (!isReady) throw gatewayError('unavailable', 'unavailable', 'The telemetry store is starting.');
      return queries.run(plan, signal);
    },
    setRoom: (given) => {
      room = given;
      post({ kind: 'room', room });
      // Whatever it failed of, room may have been what it missed.
      if (thread || !restartTimer || isReleased || isStopping) return;
      restartPause.reset();
      restartTimer.cancel();
      launch();
    },
    seal: () => queries.seal(),
    status: () => status,
    get failure() {
      return isReady ? undefined : (file?.failure?.message ?? 'the store of telemetry is starting');
    },
    stop: async () => {
      isStopping = true;
      leave?.();
      restartTimer?.cancel();
      telling?.cancel();
      if (!thread) return;
      stopped = Promise.withResolvers<void>();
      post({ kind: 'stop' });
      await stopped.promise;
      await thread?.terminate();
    },
  };
}

interface Backlog {
  /** A promise asks to wait until the store has caught up. */
  add(sequence: number, record: Uint8Array): Promise<void> | undefined;
  applied(sequence: number): void;
  records(): readonly { sequence: number; record: Uint8Array }[];
  sizeBytes(): number;
}

/** Records that the thread has not confirmed yet. */
function createBacklog(sizeMaxBytes: () => number): Backlog {
  let records: { sequence: number; record: Uint8Array }[] = [];
  let sizeBytes = 0;
  let room: PromiseWithResolvers<void> | undefined;
  return {
    add: (sequence, record) => {
      records.push({ sequence, record });
      sizeBytes += record.length;
      if (sizeBytes <= sizeMaxBytes()) return undefined;
      room ??= Promise.withResolvers<void>();
      return room.promise;
    },
    applied: (sequence) => {
      const done = records.findIndex((record) => record.sequence > sequence);
      for (const { record } of done < 0 ? records : records.slice(0, done)) sizeBytes -= record.length;
      records = done < 0 ? [] : records.slice(done);
      if (sizeBytes > sizeMaxBytes() / 2) return;
      room?.resolve();
      room = undefined;
    },
    records: () => records,
    sizeBytes: () => sizeBytes,
  };
}
