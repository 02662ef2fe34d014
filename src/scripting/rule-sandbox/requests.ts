/** Requests of one run to the gateway: bounded in rate and number, forgotten when the run ends. */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { ScriptClock } from '#scripting/lua';
import type { ReadRequest, RuleAnswer, RuleMethod, RuleRequest } from '../../protocol/rule-sandbox.ts';

export type GatewayRequests = ReturnType<typeof createGatewayRequests>;

const WRITES: readonly RuleMethod[] = ['execute', 'storage_write', 'storage_remove', 'notify'];
const RETRY_MS = 20;
/** Time that is left to a function after the timeout of its command, so that it can report it. */
const LAST_WORD_MS = 250;

export function createGatewayRequests(options: {
  clock: ScriptClock;
  limits: Limits['rules'];
  send: (request: RuleRequest, answered: (answer: RuleAnswer) => void) => void;
}) {
  const { clock, limits, send } = options;
  const nowMs = clock.monotonicMs();
  const all = new TokenBucket(limits.requestsPerSecond, limits.requestBurst, nowMs);
  const writes = new TokenBucket(limits.writesPerSecond, limits.writeBurst, nowMs);
  const gate = createGate(clock);
  let commands = 0;
  let isStopped = false;

  function delivered(request: RuleRequest, deadlineMs: MonotonicMs): Promise<RuleAnswer> {
    return new Promise((resolve) => {
      const leftMs = deadlineMs - clock.monotonicMs();
      if (leftMs <= 0) resolve({ ok: false, error: 'timeout' });
      else if (!isStopped) send(inTime(request, leftMs), resolve);
    });
  }

  return {
    /**
     * Resolves with the answer, and never if the run ends before. A request whose turn comes when the script no longer
     * waits for it is not sent.
     */
    send: async (
      request: RuleRequest,
      deadlineMs: MonotonicMs = Number.POSITIVE_INFINITY,
    ): Promise<RuleAnswer> => {
      const isCommand = request.method === 'execute';
      if (isCommand && commands >= limits.commandsAtOnce)
        return { ok: false, error: `too many commands at once, at most ${limits.commandsAtOnce}` };
      if (isCommand) commands++;
      try {
        await gate.admitted(WRITES.includes(request.method) ? writes : all);
        return await delivered(request, deadlineMs);
      } finally {
        if (isCommand) commands--;
      }
    },
    /** The same with as many of the others as the rate allows; their answers follow the first. */
    sendAlong: async (
      first: ReadRequest,
      others: readonly ReadRequest[],
      deadlineMs: MonotonicMs = Number.POSITIVE_INFINITY,
    ): Promise<RuleAnswer[]> => {
      // There is nearly always room: this avoids a promise for each question.
      if (!all.take(clock.monotonicMs())) await gate.admitted(all);
      const refused = others.findIndex(() => !all.take(clock.monotonicMs()));
      const along = refused < 0 ? others : others.slice(0, refused);
      if (along.length > 0) {
        const requests = [first, ...along];
        const answer = await delivered({ method: 'several', parameters: { requests } }, deadlineMs);
        if (answer.ok) return answer.result as RuleAnswer[];
      }
      return [await delivered(first, deadlineMs)];
    },
    stop: () => {
      isStopped = true;
      gate.close();
    },
  };
}

function createGate(clock: ScriptClock) {
  const timers = new Set<{ cancel(): void }>();
  return {
    /** Waits for a turn within the rate. */
    admitted: async (bucket: TokenBucket): Promise<void> => {
      while (!bucket.take(clock.monotonicMs()))
        await new Promise<void>((resolve) => {
          const timer = clock.setTimer(RETRY_MS, () => {
            timers.delete(timer);
            resolve();
          });
          timers.add(timer);
        });
    },
    /** No waiting request gets a turn any more. */
    close: () => {
      for (const timer of timers) timer.cancel();
    },
  };
}

/** A command is not waited for longer than its function may run. */
function inTime(request: RuleRequest, leftMs: DurationMs): RuleRequest {
  if (request.method !== 'execute') return request;
  const { parameters } = request;
  const timeoutMs = Math.max(0, Math.min(parameters.timeoutMs, leftMs - LAST_WORD_MS));
  return { method: 'execute', parameters: { ...parameters, timeoutMs } };
}
