/**
 * Records that targets get besides telemetry. Each content is a stream of numbered records, and a target has a position in
 * each. Triggers in state.db note the keys of changed rows while a target selects the content; logs have numbers of their own.
 * The content of a record is read when it is sent.
 *
 *   alert, execution, properties, audit ─▶ trigger ─▶ carried_change ─┐
 *   connectivity ─▶ noteConnectivity ─────────────────────────────────┴─▶ read(cursor) ─▶ sink
 *   device and rule logs, by their own numbers ──────────────────────────┘
 */
import { type EpochMs, formatTimestamp, parseTimestampMs } from '../../../lib/time.ts';
import type { GroupCommit } from '../../../platform/sqlite/index.ts';
import type { ConnectivityStatus, Device } from '../../devices/index.ts';
import type { CarriedRecord, FoundRecord, RecordContent, RecordCursor } from '../model.ts';
import type { ChangeStore } from '../store.ts';

/** Reads a record; undefined: it was deleted, null: targets must not get it. */
type Find = (rowId: string) => FoundRecord | null | undefined;

/** Records that have numbers of their own. */
interface NumberedRecords {
  newestNumber(): number;
  /** Records after a number, the oldest first. */
  after(number: number, limit: number): (FoundRecord & { number: number })[];
}

/** Sources of the records of each content. */
export interface RecordSources {
  noted: Record<'ALERTS' | 'AUDIT' | 'EXECUTIONS' | 'PROPERTIES', Find>;
  numbered: Record<'DEVICE_LOGS' | 'RULE_LOGS', NumberedRecords>;
}

export interface ReadRecords {
  records: CarriedRecord[];
  cursor: RecordCursor;
  /** Deleted before they were read. */
  lost: number;
  /** Still to be read. */
  pending: number;
}

interface RecordsOptions {
  store: ChangeStore;
  sources: RecordSources;
  /** Group commit of state.db. */
  commits: GroupCommit;
  /** Changes kept of each content; older ones are deleted. */
  kept: number;
}

/** Approximate size of one change of connectivity. */
const CHANGE_BYTES = 256;

export class Records {
  readonly #options: RecordsOptions;
  /** Changes of connectivity that are not on disk yet. */
  #waiting: string[] = [];
  #writtenCount = 0;

  constructor(options: RecordsOptions) {
    this.#options = options;
    options.commits.join({
      write: () => {
        this.#writtenCount = this.#waiting.length;
        for (const text of this.#waiting) options.store.note('CONNECTIVITY', text);
      },
      committed: () => {
        this.#waiting = this.#waiting.slice(this.#writtenCount);
      },
    });
  }

  /** The cursor for these contents; newly selected ones begin now. */
  opened(cursor: RecordCursor, contents: readonly RecordContent[]): RecordCursor {
    return Object.fromEntries(contents.map((content) => [content, cursor[content] ?? this.#newest(content)]));
  }

  /** The next records, at most `limit` of all contents together. */
  read(cursor: RecordCursor, limit: number): ReadRecords {
    const read: ReadRecords = { records: [], cursor: {}, lost: 0, pending: 0 };
    for (const content of Object.keys(cursor) as RecordContent[]) {
      const newest = this.#newest(content);
      // A number beyond the newest came from another database.
      const from = Math.min(cursor[content] ?? newest, newest);
      const left = limit - read.records.length;
      const upTo = left > 0 && from < newest ? this.#readContent(content, from, left, read) : from;
      read.cursor[content] = upTo;
      read.pending += newest - upTo;
    }
    return read;
  }

  /** Notes a change of connectivity, which nothing else stores. */
  noteConnectivity({ id }: Device, status: ConnectivityStatus, atMs: EpochMs): void {
    const { store, commits } = this.#options;
    if (!store.isWanted('CONNECTIVITY') || commits.isFull(CHANGE_BYTES)) return;
    this.#waiting.push(JSON.stringify({ device_id: id, status, at: formatTimestamp(atMs) }));
    // The group reports the failure; the change waits for the next attempt.
    commits.request(CHANGE_BYTES).catch(() => undefined);
  }

  #newest(content: RecordContent): number {
    const { sources, store } = this.#options;
    if (content === 'DEVICE_LOGS' || content === 'RULE_LOGS') return sources.numbered[content].newestNumber();
    return store.newest(content);
  }

  /** Returns the number up to which it read. */
  #readContent(content: RecordContent, from: number, limit: number, read: ReadRecords): number {
    const { sources, store, kept } = this.#options;
    if (content === 'DEVICE_LOGS' || content === 'RULE_LOGS') {
      const rows = sources.numbered[content].after(from, limit);
      const upTo = rows.length === limit ? (rows.at(-1)?.number ?? from) : this.#newest(content);
      read.records.push(...rows.map((row) => ({ content, ...row })));
      // Numbers are given without gaps.
      read.lost += upTo - from - rows.length;
      return upTo;
    }
    const rows = store.after(content, from, limit);
    read.lost += Math.max(0, store.newest(content) - kept - from);
    for (const { number, rowId } of rows) {
      const found = content === 'CONNECTIVITY' ? connectivityOf(rowId) : sources.noted[content](rowId);
      if (found) read.records.push({ content, number, ...found });
      else if (found === undefined) read.lost++;
    }
    return rows.length === limit ? (rows.at(-1)?.number ?? from) : store.newest(content);
  }
}

function connectivityOf(text: string): FoundRecord {
  const body = JSON.parse(text) as { device_id: string; status: ConnectivityStatus; at: string };
  return { deviceId: body.device_id, atMs: parseTimestampMs(body.at) ?? 0, tags: {}, body };
}
