/**
 * What a script reads one after another is asked for together: with a question go those that followed it when it was
 * asked before. An answer that came along counts in the slice that begins with its arrival and no longer, so that nothing
 * the script learned otherwise is newer; each is given once, and what is wanted again is asked again.
 */
import type { Limits } from '../../lib/limits.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import type { LuaTurn, ScriptClock } from '../../lua/index.ts';
import type { ReadRequest, RuleAnswer } from '../../protocol/rule-sandbox.ts';

/** A question that changes nothing; the same questions have the same key. */
interface Read {
  key: string;
  request: () => ReadRequest;
}

/** What followed a question, and how often in turn it came along for nothing. */
interface Following {
  key: string;
  request: ReadRequest;
  inVain: number;
}

/** Where a task of the script stands: its note. */
interface Reading {
  lastKey: string;
  /** That of a read which follows the last one at once, and of the answers that came along with it. */
  slice: number;
  answers: Map<string, RuleAnswer>;
  untilMs: MonotonicMs;
}

interface ReadAheadOptions {
  clock: Pick<ScriptClock, 'monotonicMs'>;
  limits: Pick<Limits['rules'], 'readsAhead' | 'readAheadMs' | 'readAheadLength' | 'readsRemembered'>;
  /** Asks the first, and those of the others that there is a turn for. */
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

  /** At once when the answer came along with an earlier one. */
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

  /** What followed last time, up to where it turns in a circle. */
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

/** What a member takes beside its name and what it holds, in characters of JSON. */
const MEMBER_LENGTH = 4;

/** Characters that are left beside a value, about as its JSON text would have them; below 0 when it is too long. */
function roomFor(value: unknown, length: number): number {
  if (typeof value === 'string') return length - value.length;
  if (typeof value !== 'object' || value === null) return length - MEMBER_LENGTH;
  let left = length;
  for (const name of Object.keys(value)) {
    left = roomFor((value as Record<string, unknown>)[name], left - name.length - MEMBER_LENGTH);
    if (left < 0) break;
  }
  return left;
}
