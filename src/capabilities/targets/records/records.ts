/**
 * What targets carry besides telemetry. Each content is a stream of records whose numbers grow, and a target stands on a
 * number of each: what changes in state.db is noted there by triggers while a target wants it, as the key of its row, and
 * what is only ever added has numbers of its own. What a record says is read when it is sent.
 *
 *   alert, execution, properties, audit ─▶ trigger ─▶ carried_change ─┐
 *   connectivity ─▶ noteConnectivity ─────────────────────────────────┴─▶ read(cursor) ─▶ sink
 *   device and rule logs, by their own numbers ──────────────────────────┘
 */
import type { EpochMs } from '../../../lib/time.ts';
import { formatTimestamp, parseTimestampMs } from '../../../lib/timestamp.ts';
import type { GroupCommit } from '../../../platform/sqlite/index.ts';
import type { ConnectivityStatus, Device } from '../../devices/index.ts';
import type { CarriedRecord, FoundRecord, RecordContent, RecordCursor } from '../model.ts';
import type { ChangeStore } from '../store.ts';

/** What a record says; undefined: it is gone, null: a target must not read it. */
type Find = (rowId: string) => FoundRecord | null | undefined;

/** Records with numbers of their own. */
interface NumberedRecords {
  newestNumber(): number;
  /** Those after a number, the oldest first. */
  after(number: number, limit: number): (FoundRecord & { number: number })[];
}

/** Where the records of each content are read. */
export interface RecordSources {
  noted: Record<'ALERTS' | 'AUDIT' | 'EXECUTIONS' | 'PROPERTIES', Find>;
  numbered: Record<'DEVICE_LOGS' | 'RULE_LOGS', NumberedRecords>;
}

export interface ReadRecords {
  records: CarriedRecord[];
  cursor: RecordCursor;
  /** Given up before they were read. */
  lost: number;
  /** Still to be read. */
  pending: number;
}

interface RecordsOptions {
  store: ChangeStore;
  sources: RecordSources;
  /** Of state.db. */
  commits: GroupCommit;
  /** Changes of each content; older ones are given up. */
  kept: number;
}

/** Of one change of connectivity, about. */
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

  /** Where who wants these contents goes on; one that was not wanted before begins now. */
  opened(cursor: RecordCursor, contents: readonly RecordContent[]): RecordCursor {
    return Object.fromEntries(contents.map((content) => [content, cursor[content] ?? this.#newest(content)]));
  }

  /** The next records, so many of all contents together. */
  read(cursor: RecordCursor, limit: number): ReadRecords {
    const read: ReadRecords = { records: [], cursor: {}, lost: 0, pending: 0 };
    for (const content of Object.keys(cursor) as RecordContent[]) {
      const newest = this.#newest(content);
      // Beyond the newest: what stood there was of another store.
      const from = Math.min(cursor[content] ?? newest, newest);
      const left = limit - read.records.length;
      const upTo = left > 0 && from < newest ? this.#readContent(content, from, left, read) : from;
      read.cursor[content] = upTo;
      read.pending += newest - upTo;
    }
    return read;
  }

  /** Takes note of what nothing else stores. */
  noteConnectivity({ id }: Device, status: ConnectivityStatus, atMs: EpochMs): void {
    const { store, commits } = this.#options;
    if (!store.isWanted('CONNECTIVITY') || commits.isFull(CHANGE_BYTES)) return;
    this.#waiting.push(JSON.stringify({ device_id: id, status, at: formatTimestamp(atMs) }));
    // Told by the group itself; the change waits for the next attempt.
    commits.request(CHANGE_BYTES).catch(() => undefined);
  }

  #newest(content: RecordContent): number {
    const { sources, store } = this.#options;
    if (content === 'DEVICE_LOGS' || content === 'RULE_LOGS') return sources.numbered[content].newestNumber();
    return store.newest(content);
  }

  /** Returns up to which number it read. */
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
