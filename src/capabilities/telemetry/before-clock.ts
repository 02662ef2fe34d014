/**
 * Messages that came without a time while the box did not know the time either (decision 6). They wait, with
 * their age, and get the right time of receipt once the clock is set.
 */
import type { Clock } from '../../platform/clock/index.ts';
import type { IncomingMessage } from './ingest.ts';

interface Waiting {
  message: IncomingMessage;
  receivedMonotonicMs: number;
  resolve: (stored: Promise<void> | void) => void;
}

export interface BeforeClock {
  /** Takes the message and resolves once it was stored; undefined when there is no room. */
  hold(message: IncomingMessage): Promise<void> | undefined;
  stop(): void;
}

export function createBeforeClock(options: {
  clock: Clock;
  messagesMax: number;
  release: (message: IncomingMessage) => Promise<void> | void;
}): BeforeClock {
  const { clock } = options;
  let waiting: Waiting[] = [];
  const unsubscribe = clock.onStepped(() => {
    if (!clock.isSet()) return;
    const released = waiting;
    waiting = [];
    for (const { message, receivedMonotonicMs, resolve } of released) {
      const ageMs = clock.monotonicMs() - receivedMonotonicMs;
      resolve(options.release({ ...message, receivedAtMs: clock.wallMs() - ageMs }));
    }
  });
  return {
    hold: (message) => {
      if (waiting.length >= options.messagesMax) return undefined;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ message, receivedMonotonicMs: clock.monotonicMs(), resolve });
      return promise;
    },
    stop: unsubscribe,
  };
}
