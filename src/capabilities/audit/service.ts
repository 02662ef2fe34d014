/** Records what was changed or commanded, and by whom. */
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { createTokenBucket, type TokenBucket } from '../../lib/token-bucket.ts';
import { cutToBytes } from '../../lib/text.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Answered } from '../../platform/http/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Database, GroupCommit } from '../../platform/sqlite/index.ts';
import type { AuditEntry, AuditFilter, StoredEntry } from './model.ts';
import { createRetention } from './retention.ts';
import { type AuditStore, createAuditStore } from './store.ts';

export interface AuditOptions {
  /** state.db */
  database: Database;
  /** Of state.db. */
  commits: GroupCommit;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits?: Limits['audit'];
}

export interface Audit {
  /**
   * Takes note of an answered request. A change that was made is on disk when it resolves, so that no
   * success is answered without its entry; while the disk takes no data, the entry waits in memory. Refusals
   * are written with the next commit, and of a flood of them only some. Never rejects.
   */
  record(answered: Answered): Promise<void>;
  /**
   * Takes note of what nobody asked for over HTTP: a command of a rule or of a device's script, an attempt of a
   * device. Written with the next commit; of a flood of refusals only some are kept.
   */
  recordAction(action: Action): void;
  /** Newest first, and how many match in all. */
  list(filter: AuditFilter, limit: number, offset: number): { entries: StoredEntry[]; totalCount: number };
  /** The matching entries, newest first, in pages; entries made meanwhile are not in it. */
  pages(filter: AuditFilter): Generator<StoredEntry[]>;
  start(): void;
  stop(): void;
}

/** Who did what to what, with the status that a request for the same would have got. */
export type Action = Omit<AuditEntry, 'atMs'>;

const NOBODY = { kind: 'anonymous', id: 'anonymous', name: 'anonymous' } as const;
const LOCAL = { kind: 'local', id: 'local', name: 'local command' } as const;
/** Of an entry, for the account of the group commit. */
const ENTRY_BYTES = 300;

export function createAudit(options: AuditOptions): Audit {
  const { clock, commits, database, log, metrics } = options;
  const { limits = LIMITS.audit } = options;
  const store = createAuditStore(database);
  const retention = createRetention({ database, store, clock, log, metrics, limits });
  const refusals = newBucket();
  // What a rule asks in vain, again and again, must not hide what people and devices try.
  const automaticRefusals = new Map<string, TokenBucket>();
  const dropped = metrics.counter('audit_dropped_total', 'Audit entries not kept.', ['reason']);
  let waiting: AuditEntry[] = [];
  commits.join({
    write: () => {
      for (const entry of waiting) store.insert(entry);
    },
    committed: () => void (waiting = []),
  });

  function newBucket(): TokenBucket {
    return createTokenBucket(limits.refusalsPerHour / 3_600, limits.refusalBurst, clock.monotonicMs());
  }

  /** False when the entry is not kept. */
  function put(entry: AuditEntry, bucket: TokenBucket): boolean {
    const isFlood = isRefusal(entry) && !bucket.take(clock.monotonicMs());
    if (isFlood || waiting.length >= limits.waiting) {
      dropped.inc({ reason: isFlood ? 'flood' : 'disk' });
      return false;
    }
    waiting.push(entry);
    const committed = commits.request(ENTRY_BYTES);
    // Told by the group itself; the entry waits for the next attempt.
    committed.catch((error: unknown) => log.debug('audit entry waits', { error }));
    return true;
  }

  async function record(answered: Answered): Promise<void> {
    if (!answered.isChange) return;
    const entry = entryOf(answered, clock.wallMs(), limits);
    if (!put(entry, refusals) || isRefusal(entry)) return;
    try {
      await commits.flush();
    } catch (error) {
      log.warnLimited('audit', 60_000, 'audit entry is not on disk yet', { error });
    }
  }

  return {
    record,
    recordAction: (action) => {
      const { kind } = action.origin;
      const bucket = automaticRefusals.get(kind) ?? newBucket();
      automaticRefusals.set(kind, bucket);
      put({ ...action, target: shortened(action.target, limits), atMs: clock.wallMs() }, bucket);
    },
    list: (filter, limit, offset) => ({
      entries: store.page(filter, limit, offset),
      totalCount: store.count(filter),
    }),
    pages: (filter) => pagesOf(store, filter, limits.pageItems),
    start: () => retention.start(),
    stop: () => retention.stop(),
  };
}

/** Records a command that is run on the box itself, in its transaction. */
export function createLocalAudit(options: {
  database: Database;
  clock: Clock;
}): (operation: string, target: Record<string, string>) => void {
  const store = createAuditStore(options.database);
  return (operation, target) =>
    store.insert({ atMs: options.clock.wallMs(), origin: LOCAL, operation, target, status: 0 });
}

function* pagesOf(store: AuditStore, filter: AuditFilter, pageItems: number): Generator<StoredEntry[]> {
  let number = store.newestNumber() + 1;
  for (;;) {
    const page = store.below(filter, number, pageItems);
    const last = page.at(-1);
    if (!last) return;
    yield page;
    number = last.number;
  }
}

function isRefusal({ status }: AuditEntry): boolean {
  return status >= 400;
}

/** Values come from outside and can be long. */
function shortened(target: AuditEntry['target'], limits: Limits['audit']): AuditEntry['target'] {
  const entries = Object.entries(target).map(([name, value]) => [
    name,
    cutToBytes(value, limits.targetBytes),
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

function entryOf(answered: Answered, atMs: number, limits: Limits['audit']): AuditEntry {
  return {
    atMs,
    origin: answered.principal?.origin ?? NOBODY,
    operation: answered.operation,
    target: shortened(answered.params, limits),
    status: answered.status,
    remoteAddress: answered.remoteAddress,
  };
}
