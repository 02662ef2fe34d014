/** The log of a rule, bounded in length and rate (docs/interface/lua-rules.md#logs). */
import type { Limits } from '../../lib/limits.ts';
import { cutToBytes } from '../../lib/text.ts';
import type { DurationMs } from '../../lib/time.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { LuaFailure, ScriptClock } from '#scripting/lua';
import { type LogSeverity, severityOf } from '../../protocol/device-log.ts';
import type { RuleLogEntry } from '../../protocol/rule-sandbox.ts';
import { RepeatedEntries } from './repeated-entries.ts';

const SECOND_MS = 1_000;
const FLUSH_MS = 20;
const PAUSES = 'takes too much processor time and pauses again and again';

export interface RuleLog {
  /** An unknown severity counts as `info`. */
  write(severity: string, message: string): void;
  /** With traceback. */
  failure(failure: LuaFailure): void;
  /** The same, but a message that repeats is counted: for functions that run again and again. */
  repeatedFailure(failure: LuaFailure): void;
  /** A refusal that the script need not look at; counted as well. */
  repeatedWarning(text: string): void;
  /** It takes more than its share of the processor; counted as well. */
  pause(durationMs: DurationMs): void;
  /** Hands over all waiting entries, so that nothing is lost at the end of a script. */
  flush(): void;
}

export function createRuleLog(options: {
  clock: ScriptClock;
  limits: Limits['rules'];
  /** Time zone of the site, for moments in entries. */
  timeZone: () => string;
  send: (entries: RuleLogEntry[]) => void;
  /** Sends each entry at once, instead of those of a short while together. */
  isImmediate?: boolean;
}): RuleLog {
  const { clock, limits } = options;
  const { logsPerSecond, ownLogsPerSecond } = limits;
  const written = new TokenBucket(logsPerSecond, logsPerSecond, clock.monotonicMs());
  /** For failures, which are logged although the script fills its log. */
  const own = new TokenBucket(ownLogsPerSecond, ownLogsPerSecond, clock.monotonicMs());
  const say = (severity: LogSeverity, text: string): void => appendWithin([own, written], severity, text);
  const repeated = new RepeatedEntries({ clock, limits, timeZone: options.timeZone, write: say });
  let waiting: RuleLogEntry[] = [];
  let timer: { cancel(): void } | undefined;
  let dropped = 0;
  let droppedTimer: { cancel(): void } | undefined;

  function append(severity: LogSeverity, message: string): void {
    const text = cutToBytes(message, limits.logMessageBytes);
    waiting.push({ timestampMs: clock.wallMs(), severity, message: text });
    if (options.isImmediate) send();
    else timer ??= clock.setTimer(FLUSH_MS, send);
  }

  function send(): void {
    timer?.cancel();
    timer = undefined;
    if (waiting.length === 0) return;
    const entries = waiting;
    waiting = [];
    options.send(entries);
  }

  function tellDropped(): void {
    droppedTimer?.cancel();
    droppedTimer = undefined;
    if (dropped > 0)
      append('warning', `${dropped} log entries were dropped, more than ${logsPerSecond} per second`);
    dropped = 0;
  }

  function appendWithin(buckets: readonly TokenBucket[], severity: LogSeverity, message: string): void {
    if (buckets.some((bucket) => bucket.take(clock.monotonicMs()))) return append(severity, message);
    dropped++;
    droppedTimer ??= clock.setTimer(SECOND_MS, tellDropped);
  }

  return {
    write: (severity, message) => appendWithin([written], severityOf(severity), message),
    failure: (failure) => say('error', failure.text),
    repeatedFailure: (failure) => repeated.add('error', failure.message, failure.text),
    repeatedWarning: (text) => repeated.add('warning', text, text),
    pause: (durationMs) => repeated.add('warning', PAUSES, `${PAUSES}, now for ${Math.round(durationMs)} ms`),
    flush: () => {
      repeated.flush();
      tellDropped();
      send();
    },
  };
}
