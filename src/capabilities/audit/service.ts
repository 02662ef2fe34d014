import { Emitter } from '../../lib/emitter.ts';
import { requireFound } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { mapped } from '../../lib/members.ts';
import { cutToBytes } from '../../lib/text.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Answered } from '../../platform/http/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import { RetentionLoop, type ScarceRoom } from '../../platform/retention/index.ts';
import type { Database, GroupCommit } from '../../platform/sqlite/index.ts';
import { type AuditEntry, type AuditEvents, type AuditFilter, NOBODY, type StoredEntry } from './model.ts';
import { Refusals } from './refusals.ts';
import { type AuditStore, createAuditStore } from './store.ts';

interface AuditOptions extends Instruments {
  database: Database;
  /** Group commit of state.db. */
  commits: GroupCommit;
  limits?: Limits['audit'];
  /** Room for state; while it is scarce, fewer entries are kept. */
  room?: ScarceRoom | undefined;
}

/** An action, with the status that a request for the same would get. */
type Action = Omit<AuditEntry, 'atMs'>;

const LOCAL = { kind: 'local', id: 'local', name: 'local command' } as const;
/** Approximate size of an entry in the group commit. */
const ENTRY_BYTES = 300;

/** Records changes and commands with their origin. */
export class Audit {
  readonly events: Emitter<AuditEvents>;
  readonly #options: AuditOptions;
  readonly #limits: Limits['audit'];
  readonly #store: AuditStore;
  readonly #retention: RetentionLoop;
  readonly #refusals: Refusals;
  readonly #dropped: { inc: (labels: { reason: string }) => void };
  readonly #queue: { dropped: () => void };
  #waiting: AuditEntry[] = [];
  #summing: Timer | undefined;

  constructor(options: AuditOptions) {
    const { clock, commits, database, limits = LIMITS.audit } = options;
    this.events = new Emitter<AuditEvents>(options.log);
    this.#options = options;
    this.#limits = limits;
    this.#store = createAuditStore(database);
    this.#retention = new RetentionLoop({
      ...options,
      limits,
      what: 'audit trail',
      failures: options.metrics.counter(
        'audit_retention_failures_total',
        'Rounds of deleting old audit entries that failed.',
      ),
      deleteBatch: () => this.#deleteSome(),
      restamp: (correction) => database.transaction(() => this.#store.restamp(correction)),
    });
    this.#refusals = new Refusals(clock, limits);
    this.#dropped = options.metrics.counter('audit_dropped_total', 'Audit entries not kept one by one.', {
      reason: ['flood', 'disk'],
    });
    this.#queue = options.metrics.queue('audit_entries', {
      limit: limits.waiting,
      depth: () => this.#waiting.length,
    });
    commits.join({
      write: () => {
        for (const entry of this.#waiting) this.#store.insert(entry);
      },
      committed: () => void (this.#waiting = []),
    });
  }

  /**
   * Records an answered request. The entry of a success is on disk when it resolves, so that no
   * success is answered without its entry; while the disk fails, the entry waits in memory. Refusals
   * are written with the next commit; of a flood of them only some, and the number of the others. Never rejects.
   */
  async record(answered: Answered): Promise<void> {
    const { clock, commits, log } = this.#options;
    const { principal, operation, params, status, remoteAddress } = answered;
    const entry = {
      atMs: clock.wallMs(),
      origin: principal?.origin ?? NOBODY,
      operation,
      target: this.#shortened(params),
      status,
      remoteAddress,
    };
    const isUnauthenticated = entry.origin.kind === 'anonymous';
    if (!this.#put(entry, isUnauthenticated ? undefined : principal?.rateKey) || isRefusal(entry)) return;
    try {
      await commits.flush();
    } catch (error) {
      log.warnLimited('audit', 60_000, 'audit entry is not on disk yet', { error });
    }
  }

  /**
   * Records an action that was not requested over HTTP: a command of a rule or of a device's script, an attempt of a
   * device. Written with the next commit; refusals as in `record`.
   */
  recordAction(action: Action): void {
    const { kind, id } = action.origin;
    const target = this.#shortened(action.target);
    const person = kind === 'anonymous' ? undefined : `${kind} ${id}`;
    this.#put({ ...action, target, atMs: this.#options.clock.wallMs() }, person);
  }

  /** False when the entry is not kept. */
  #put(entry: AuditEntry, person: string | undefined): boolean {
    if (!isRefusal(entry)) this.events.emit('action_done', { entry });
    if (isRefusal(entry) && !this.#refusals.keep(entry, person)) {
      this.#dropped.inc({ reason: 'flood' });
      return false;
    }
    return this.#write(entry);
  }

  #write(entry: AuditEntry): boolean {
    const { commits, log } = this.#options;
    if (this.#waiting.length >= this.#limits.waiting) {
      this.#dropped.inc({ reason: 'disk' });
      this.#queue.dropped();
      return false;
    }
    this.#waiting.push(entry);
    // The group reports the failure; the entry waits for the next attempt.
    commits.request(ENTRY_BYTES).catch((error: unknown) => log.debug('audit entry waits', { error }));
    return true;
  }

  /** A page, newest first, and the number of all matches. */
  list(filter: AuditFilter, limit: number, offset: number): { entries: StoredEntry[]; totalCount: number } {
    return { entries: this.#store.page(filter, limit, offset), totalCount: this.#store.count(filter) };
  }

  /** @throws GatewayError audit_entry_not_found (404) */
  require(number: string): StoredEntry {
    const entry = /^\d{1,15}$/.test(number) ? this.ofNumber(Number(number)) : undefined;
    return requireFound('audit_entry_not_found', 'There is no such entry of the audit trail.', entry);
  }

  ofNumber(number: number): StoredEntry | undefined {
    return this.#store.below({}, number + 1, 1).find((entry) => entry.number === number);
  }

  /** When `operation` last succeeded; undefined: never, as far as entries are kept. */
  lastDoneMs(operation: string): EpochMs | undefined {
    return this.#store.lastDoneMs(operation);
  }

  /** The matching entries, newest first, in pages; entries made meanwhile are not in it. */
  *pages(filter: AuditFilter): Generator<StoredEntry[]> {
    let number = this.#store.newestNumber() + 1;
    for (;;) {
      const page = this.#store.below(filter, number, this.#limits.pageItems);
      const last = page.at(-1);
      if (!last) return;
      yield page;
      number = last.number;
    }
  }

  /** Values come from outside and can be long. */
  #shortened(target: AuditEntry['target']): AuditEntry['target'] {
    return mapped(target, (value) => cutToBytes(value, this.#limits.targetBytes));
  }

  /** Deletes entries that are too old or too many. */
  #deleteSome(): boolean {
    const { clock, database, room } = this.#options;
    const { deletedAtOnce, entries, entriesWhenScarce, automaticEntries, lifetimeMs } = this.#limits;
    const old = clock.proven.olderThan(lifetimeMs);
    const kept = room?.isScarce ? Math.min(entries, entriesWhenScarce) : entries;
    const removed = database.transaction(() => [
      old ? this.#store.removeOld(old, deletedAtOnce) : 0,
      this.#store.removeAutomatic(automaticEntries, deletedAtOnce),
      this.#store.removeExcess(kept, deletedAtOnce),
    ]);
    return removed.includes(deletedAtOnce);
  }

  start(): void {
    this.#retention.start();
    this.#summing = this.#options.clock.setRepeating(this.#limits.refusalSummaryIntervalMs, () => {
      for (const summary of this.#refusals.summaries()) this.#write(summary);
    });
  }

  stop(): void {
    this.#summing?.cancel();
    this.#retention.stop();
  }
}

/** Records a local command, within its transaction. */
export function createLocalAudit(options: {
  database: Database;
  clock: Clock;
}): (operation: string, target: Record<string, string>) => void {
  const store = createAuditStore(options.database);
  return (operation, target) =>
    store.insert({ atMs: options.clock.wallMs(), origin: LOCAL, operation, target, status: 0 });
}

function isRefusal({ status }: AuditEntry): boolean {
  return status >= 400;
}
