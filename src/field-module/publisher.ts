/** Publishes for the devices of a module, and for the module itself on its own channel. */
import type { Limits } from '../lib/limits.ts';
import type { EpochS } from '../lib/time.ts';
import type { Clock, Timer } from '../platform/clock/index.ts';
import type { Log } from '../platform/log/index.ts';
import {
  MODULE_CHANNEL,
  MODULE_INTERVALS,
  type ModuleCounts,
  moduleProperties,
  moduleTelemetry,
} from '../protocol/module.ts';
import type { GatewayLink } from './mqtt.ts';
import type { DeviceLogEntry } from './thread-messages.ts';

export type Publisher = ReturnType<typeof createPublisher>;

export function createPublisher(options: {
  link: Pick<GatewayLink, 'send' | 'keep' | 'isReady'>;
  clock: Clock;
  log: Log;
  limits: Limits['module'];
  counts: () => ModuleCounts;
  /** False: messages carry no time, so that the time of their receipt counts. */
  isClockBelieved: () => boolean;
  /** Called with every heartbeat and after a message that could not be sent. */
  onPulse: () => void;
}) {
  const { link, clock, limits } = options;
  const stamp = (): EpochS | undefined =>
    options.isClockBelieved() ? Math.floor(clock.wallMs() / 1_000) : undefined;

  /** Persistent log entries for which there was no room, by channel. */
  const lost = new Map<string, number>();

  function keep(channelId: string, subject: 'log' | 'commandResponse', text: string): boolean {
    if (link.keep(channelId, subject, text)) return true;
    options.log.warnLimited('full', limits.sameErrorMs, 'too much waits for the gateway, messages are lost');
    return false;
  }

  const entryOf = ({ message, severity, persist }: DeviceLogEntry): string =>
    JSON.stringify({ timestamp: stamp(), message, severity, persist });

  /** Reports lost entries as soon as there is room. */
  function tellLost(): void {
    for (const [channelId, count] of link.isReady ? lost : []) {
      const message = `${count} log entries were lost: too much was waiting for the gateway`;
      if (link.keep(channelId, 'log', entryOf({ message, severity: 'warning', persist: true })))
        lost.delete(channelId);
    }
  }

  function beat(): void {
    options.onPulse();
    tellLost();
    link.send(MODULE_CHANNEL, 'telemetry', JSON.stringify(moduleTelemetry(stamp(), options.counts())), 0);
  }

  /** The module's own properties, now. */
  function introduce(): void {
    link.send(MODULE_CHANNEL, 'properties', JSON.stringify(moduleProperties(stamp())));
  }

  const timers: Timer[] = [
    clock.setRepeating(MODULE_INTERVALS.telemetryMs, beat),
    clock.setRepeating(MODULE_INTERVALS.propertiesMs, introduce),
  ];

  return {
    /** Telemetry or properties; values that cannot be sent now are measured anew. */
    publish: (channelId: string, subject: 'telemetry' | 'properties', text: string) => {
      if (!link.send(channelId, subject, text)) options.onPulse();
    },
    log: (channelId: string, entry: DeviceLogEntry) => {
      const text = entryOf(entry);
      if (!entry.persist) link.send(channelId, 'log', text);
      else if (!keep(channelId, 'log', text)) lost.set(channelId, (lost.get(channelId) ?? 0) + 1);
    },
    /** The answer to a command; sent until it is acknowledged. */
    respond: (channelId: string, text: string) => void keep(channelId, 'commandResponse', text),
    introduce,
    stop: () => {
      for (const timer of timers) timer.cancel();
    },
  };
}
