/**
 * The one message that needs no database: the disk refuses writes. Alerts that cannot be stored are not sent one by one; they
 * follow when they are stored.
 */
import { DoublingPause } from '../../lib/doubling-pause.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, EpochMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Device } from '../devices/index.ts';
import type { NotifiedAlert } from './compose.ts';
import type { Channel } from './model.ts';

interface DiskNoticeOptions {
  clock: Clock;
  log: Log;
  limits: Limits['notifications'];
  channels: () => Iterable<Channel>;
  /** @throws Error when the receiver did not get it */
  send: (channel: Channel) => Promise<void>;
}

/** Sends the message to each channel once a day at most, and tries again where it fails. */
export class DiskNotice {
  readonly #options: DiskNoticeOptions;
  readonly #pause: DoublingPause;
  readonly #sentAtMs = new Map<string, MonotonicMs>();
  #isRefused = false;
  #timer: Timer | undefined;

  constructor(options: DiskNoticeOptions) {
    this.#options = options;
    const { retryFirstMs, retryMaxMs } = options.limits;
    this.#pause = new DoublingPause({ firstMs: retryFirstMs, maxMs: retryMaxMs });
  }

  /** The disk refused an alert. A disk that takes the next one within the usual delay is not worth a message. */
  noteRefused(): void {
    this.#isRefused = true;
    if (!this.#timer) this.#schedule(this.#options.limits.gatherMs);
  }

  /** The disk took an alert. */
  noteStored(): void {
    this.#isRefused = false;
    this.#pause.reset();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #schedule(durationMs: DurationMs): void {
    this.#timer = this.#options.clock.setTimer(durationMs, () => void this.#run());
  }

  async #run(): Promise<void> {
    const { channels, clock, limits, log, send } = this.#options;
    const isDue = ({ id, isEnabled }: Channel): boolean =>
      isEnabled && clock.monotonicMs() - (this.#sentAtMs.get(id) ?? -Infinity) >= limits.diskNoticeMs;
    const due = this.#isRefused ? [...channels()].filter(isDue) : [];
    const outcomes = await Promise.allSettled(
      due.map(async (channel) => {
        await send(channel);
        this.#sentAtMs.set(channel.id, clock.monotonicMs());
      }),
    );
    const failure = outcomes.find(({ status }) => status === 'rejected');
    this.#timer = undefined;
    if (!failure) return;
    log.warnLimited('disk', 60_000, 'a refusing disk could not be notified, will be tried again', {
      error: (failure as PromiseRejectedResult).reason,
    });
    this.#schedule(this.#pause.next());
  }
}

/** The alert of the message: nothing stores it, so it is in no list. */
export function refusedDisk(
  gateway: Device,
  { id, createdAtMs }: { id: string; createdAtMs: EpochMs },
): NotifiedAlert {
  const alert = {
    number: 0,
    id,
    deviceId: gateway.id,
    source: 'GATEWAY',
    name: 'disk_refuses_writes',
    severity: 'error',
    displayName: 'The disk refuses writes',
    details:
      'Alerts cannot be stored. They are sent once the disk takes them. Check the disk of the gateway.',
    readRole: 'READONLY',
    isLasting: true,
    timesRaised: 1,
    raisedAtMs: createdAtMs,
  } as const;
  return { alert, device: gateway, kinds: new Set(['RAISED']) };
}
