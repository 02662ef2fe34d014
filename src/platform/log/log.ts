/**
 * The service log: one line per event. The message is a fixed sentence, values are fields with their unit
 * in the name. Levels: `error` a person must act; `warn` degraded, recovers alone; `info` start, stop,
 * state changes, one line per request; `debug` per message. Secrets are never handed to it.
 */
import type { Writable } from 'node:stream';
import { pino } from 'pino';
import { LIMITS } from '../../lib/limits.ts';
import { isSystemCode } from '../../lib/system-fault.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';

/** The lightest first. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal';
/** Values beside the message; names are snake_case. */
export type LogFields = Record<string, unknown>;

/** Writes lines with fields; those of `child` stand in every one of its lines. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  fatal(message: string, fields?: LogFields): void;
  /**
   * A warning that may repeat without end: at most once per `intervalMs` and key, with the number of
   * suppressed repeats as `suppressed`.
   */
  warnLimited(key: string, intervalMs: DurationMs, message: string, fields?: LogFields): void;
  child(fields: LogFields): Log;
}

/** How lines look: `json` for machines, `journal` the same behind a syslog priority, `text` for a terminal. */
export type LogFormat = 'json' | 'journal' | 'text';

const JOURNAL_PRIORITY: Record<string, number> = { debug: 7, info: 6, warn: 4, error: 3, fatal: 2 };
const LIMITED_KEYS_MAX = 1_000;
const CAUSES_MAX = 8;

interface LogOptions {
  level: LogLevel;
  format: LogFormat;
  clock: Clock;
}

/** A log to standard output. A reader that hangs costs lines, which are counted in the log, and not the memory of the program. */
export function createStreamLog(options: LogOptions & { stream: Writable; recent?: RecentLines }): Log {
  const { stream, recent } = options;
  const output = new LineOutput(stream, LIMITS.log, ({ lines, bytes }) =>
    log.warn('log lines were left out: their reader did not take them', { lines, bytes }),
  );
  const write = (text: string): void => {
    recent?.add(text);
    output.write(text);
  };
  const log = createLog({ ...options, write });
  return log;
}

/** A log that writes each line with `write`. */
export function createLog(options: LogOptions & { write: (text: string) => void }): Log {
  const { clock, format, write } = options;
  const stream = {
    write: (line: string): void => write(visible(format === 'json' ? line : decorate(line, format))),
  };
  const root = pino(
    {
      level: options.level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date(clock.wallMs()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: (error: unknown) => serializeError(error) },
    },
    stream,
  );
  return wrap(root, clock, new Map());
}

type PinoLike = Pick<ReturnType<typeof pino>, 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child'>;

function wrap(
  target: PinoLike,
  clock: Clock,
  limited: Map<string, { untilMs: MonotonicMs; count: number }>,
): Log {
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void =>
      target[level](fields, message);
  const warn = at('warn');
  return {
    debug: at('debug'),
    info: at('info'),
    warn,
    error: at('error'),
    fatal: at('fatal'),
    warnLimited: (key, intervalMs, message, fields = {}) => {
      const nowMs = clock.monotonicMs();
      const entry = limited.get(key);
      if (entry && nowMs < entry.untilMs) {
        entry.count++;
        return;
      }
      if (limited.size >= LIMITED_KEYS_MAX) limited.clear();
      limited.set(key, { untilMs: nowMs + intervalMs, count: 0 });
      warn(message, entry && entry.count > 0 ? { ...fields, suppressed: entry.count } : fields);
    },
    child: (fields) => wrap(target.child(fields), clock, limited),
  };
}

/**
 * Message, code, stack and the chain of causes, which may be a ring; a `GatewayError`'s private cause thus
 * reaches the log only. What disk or system refuse has no stack: the place in the program explains nothing of it.
 */
function serializeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const { message, stack, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const deeper = cause !== undefined && depth < CAUSES_MAX;
  const isRefused = code !== undefined && (code === 'unavailable' || isSystemCode(code));
  return {
    message,
    code,
    ...(!isRefused && { stack }),
    cause: deeper ? serializeError(cause, depth + 1) : undefined,
  };
}

function decorate(line: string, format: LogFormat): string {
  const entry = JSON.parse(line) as Record<string, unknown> & {
    level: string;
    message: string;
    time: string;
  };
  if (format === 'journal') return `<${JOURNAL_PRIORITY[entry.level] ?? 6}>${line}`;
  const { level, message, time, component, error, ...fields } = entry;
  const values = Object.entries(fields).map(([name, value]) => ` ${name}=${inspect(value)}`);
  const problem = error === undefined ? '' : `\n    ${textOfError(error)}`;
  const where = typeof component === 'string' ? `${component}: ` : '';
  return `${time.slice(11, 23)} ${level.padEnd(5)} ${where}${message}${values.join('')}${problem}\n`;
}

/** Characters that a terminal obeys, or that hide or turn around what stands beside them. */
const INVISIBLE = /[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Characters that must not be shown as they are, written as their codes; a client may choose any name. */
function visible(line: string): string {
  return line.replace(INVISIBLE, codeOf);
}

const codeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

function inspect(value: unknown): string {
  return typeof value === 'string' && !/[\s"=\p{Cc}]/u.test(value) ? value : JSON.stringify(value);
}

/** Foreign words of a message may hold a line end or what a terminal obeys; only the places of a stack are lines. */
const UNPRINTABLE = /\n(?! {4}at )|(?!\n)\p{Cc}/gu;

function textOfError(error: unknown): string {
  const { stack, message, cause } = error as { stack?: string; message?: string; cause?: unknown };
  const own = (stack ?? message ?? JSON.stringify(error)).replace(UNPRINTABLE, codeOf);
  return cause === undefined ? own : `${own}\n    caused by ${textOfError(cause)}`;
}

// Lines to a stream whose reader may hang, such as a stopped service manager or a pipe that nobody reads: a bounded
// number of bytes waits for it. From the first line that is left out, all are left out until the reader has taken what
// waits, so that there is one gap and one line that reports it.

/** Messages that a reader did not get. */
interface LeftOut {
  lines: number;
  bytes: number;
}

export class LineOutput {
  readonly #stream: Writable;
  readonly #waitingBytes: number;
  readonly #onFlowing: (leftOut: LeftOut) => void;
  #leftOut: LeftOut = { lines: 0, bytes: 0 };

  /** @param onFlowing called once for every gap, when the reader has taken what was before it */
  constructor(stream: Writable, limits: { waitingBytes: number }, onFlowing: (leftOut: LeftOut) => void) {
    this.#stream = stream;
    this.#waitingBytes = limits.waitingBytes;
    this.#onFlowing = onFlowing;
    // Unheard, it would end the program: a reader that left, or a full disk, costs lines and nothing else.
    stream.on('error', () => undefined);
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#leftOut.lines > 0 || this.#isOver(bytes.length)) {
      this.#leftOut.lines++;
      this.#leftOut.bytes += bytes.length;
      return;
    }
    // Bytes, because a stream counts what waits in the units that it is given.
    this.#stream.write(bytes, () => this.#written());
  }

  /** A line is never too long when nothing waits: no event would tell when it can be written. */
  #isOver(lineBytes: number): boolean {
    const { writableLength } = this.#stream;
    return writableLength > 0 && writableLength + lineBytes > this.#waitingBytes;
  }

  #written(): void {
    if (this.#leftOut.lines === 0 || this.#stream.writableLength > 0) return;
    const leftOut = this.#leftOut;
    this.#leftOut = { lines: 0, bytes: 0 };
    this.#onFlowing(leftOut);
  }
}

/** The newest lines of the service log, for a report: those of a journal are not for the gateway to read. */
export class RecentLines {
  readonly #lines: string[] = [];
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(limits: { recentBytes: number }) {
    this.#mostBytes = limits.recentBytes;
  }

  add(line: string): void {
    const text = line.trimEnd();
    this.#lines.push(text);
    this.#bytes += text.length;
    while (this.#bytes > this.#mostBytes) this.#bytes -= this.#lines.shift()?.length ?? 0;
  }

  all(): readonly string[] {
    return [...this.#lines];
  }
}
