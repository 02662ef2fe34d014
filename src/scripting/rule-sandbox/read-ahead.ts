/**
 * Asks for the values that a script reads one after another together: a question takes along those that followed it the
 * last time. An answer that came along may be used only in the slice that begins with its arrival, so that nothing the
 * script learned otherwise is newer. Each is used once; a value that is wanted again is asked for again.
 */
import type { Limits } from '../../lib/limits.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import type { LuaTurn, ScriptClock } from '#scripting/lua';
import type { ReadRequest, RuleAnswer } from '../../protocol/rule-sandbox.ts';

/** A question that changes nothing; equal questions have equal keys. */
interface Read {
  key: string;
  request: () => ReadRequest;
}

/** The question that followed another one, and how often in a row it was asked along for nothing. */
interface Following {
  key: string;
  request: ReadRequest;
  inVain: number;
}

/** The reads of a task so far, kept as the note of its turn. */
interface Reading {
  lastKey: string;
  /** The slice in which the next read may use the answers. */
  slice: number;
  answers: Map<string, RuleAnswer>;
  untilMs: MonotonicMs;
}

interface ReadAheadOptions {
  clock: Pick<ScriptClock, 'monotonicMs'>;
  limits: Limits['rules'];
  /** Asks the first question, and as many of the others as the rate allows. */
  ask: (
    first: ReadRequest,
    others: readonly ReadRequest[],
    deadlineMs?: MonotonicMs,
  ) => Promise<RuleAnswer[]>;
}

const IN_VAIN_MAX = 3;
const NO_ANSWER: RuleAnswer = { ok: false, error: 'the gateway failed to answer' };

export class ReadAhead {
  readonly #options: ReadAheadOptions;
  readonly #following = new Map<string, Following>();

  constructor(options: ReadAheadOptions) {
    this.#options = options;
  }

  /** Answers at once when the answer came along with an earlier one. */
  read(read: Read, turn: LuaTurn, deadlineMs?: MonotonicMs): RuleAnswer | Promise<RuleAnswer> {
    const reading = turn.note as Reading | undefined;
    if (reading?.slice !== turn.slice) return this.#ask(read, turn, deadlineMs);
    this.#remember(reading.lastKey, read);
    const answer = reading.answers.get(read.key);
    if (answer === undefined || this.#options.clock.monotonicMs() > reading.untilMs)
      return this.#ask(read, turn, deadlineMs);
    reading.answers.delete(read.key);
    reading.lastKey = read.key;
    return answer;
  }

  #remember(formerKey: string, { key, request }: Read): void {
    const { readAheadLength, readsRemembered } = this.#options.limits;
    const following = this.#following.get(formerKey);
    if (following?.key === key) following.inVain = 0;
    else if (formerKey.length + key.length <= readAheadLength) {
      if (this.#following.size >= readsRemembered) this.#following.clear();
      this.#following.set(formerKey, { key, request: request(), inVain: 0 });
    }
  }

  async #ask({ key, request }: Read, turn: LuaTurn, deadlineMs?: MonotonicMs): Promise<RuleAnswer> {
    const { clock, limits, ask } = this.#options;
    const others = this.#othersAfter(key);
    const reading = {
      lastKey: key,
      slice: turn.slice + 1,
      answers: new Map<string, RuleAnswer>(),
      untilMs: 0,
    };
    turn.note = reading;
    const [first = NO_ANSWER, ...answers] = await ask(
      request(),
      others.map((other) => other.request),
      deadlineMs,
    );
    reading.untilMs = clock.monotonicMs() + limits.readAheadMs;
    for (const [index, answer] of answers.entries()) {
      const other = others[index]?.key;
      if (other !== undefined && roomFor(answer, limits.readAheadLength) >= 0)
        reading.answers.set(other, answer);
    }
    return first;
  }

  /** The questions that followed last time, until they repeat. */
  #othersAfter(firstKey: string): Following[] {
    const others = new Map<string, Following>();
    for (let key = firstKey; others.size < this.#options.limits.readsAhead;) {
      const following = this.#following.get(key);
      if (!following || following.key === firstKey || others.has(following.key)) break;
      if (++following.inVain > IN_VAIN_MAX) {
        this.#following.delete(key);
        break;
      }
      ({ key } = following);
      others.set(key, following);
    }
    return [...others.values()];
  }
}

/** Characters of JSON that a member takes beside its name and value. */
const MEMBER_LENGTH = 4;

/** Characters that are left beside the JSON text of a value, about; below 0 when it is too long. */
export function roomFor(value: unknown, length: number): number {
  if (typeof value === 'string') return length - value.length;
  if (typeof value !== 'object' || value === null) return length - MEMBER_LENGTH;
  let left = length;
  for (const name of Object.keys(value)) {
    left = roomFor((value as Record<string, unknown>)[name], left - name.length - MEMBER_LENGTH);
    if (left < 0) break;
  }
  return left;
}
