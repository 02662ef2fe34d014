/** What a module says over its link: for its devices, and for itself on its own channel. */
import type { Limits } from '../../lib/limits.ts';
import type { EpochS } from '../../lib/time.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import {
  MODULE_CHANNEL,
  MODULE_INTERVALS,
  type ModuleCounts,
  moduleProperties,
  moduleTelemetry,
} from '../../protocol/module.ts';
import type { GatewayLink } from './mqtt.ts';
import type { DeviceLogEntry } from './thread-messages.ts';

export type Publisher = ReturnType<typeof createPublisher>;

export function createPublisher(options: {
  link: Pick<GatewayLink, 'send' | 'keep'>;
  clock: Clock;
  log: Log;
  limits: Limits['module'];
  counts: () => ModuleCounts;
  /** Called with every heartbeat and after a message that could not be sent. */
  onPulse: () => void;
}) {
  const { link, clock, limits } = options;
  const epochS = (): EpochS => Math.floor(clock.wallMs() / 1_000);

  function keep(channelId: string, subject: 'log' | 'commandResponse', text: string): void {
    if (!link.keep(channelId, subject, text))
      options.log.warnLimited(
        'full',
        limits.sameErrorMs,
        'too much waits for the gateway, messages are lost',
      );
  }

  function beat(): void {
    options.onPulse();
    link.send(MODULE_CHANNEL, 'telemetry', JSON.stringify(moduleTelemetry(epochS(), options.counts())), 0);
  }

  /** The module's own properties, now. */
  function introduce(): void {
    link.send(MODULE_CHANNEL, 'properties', JSON.stringify(moduleProperties(epochS())));
  }

  const timers: Timer[] = [
    clock.setRepeating(MODULE_INTERVALS.telemetryMs, beat),
    clock.setRepeating(MODULE_INTERVALS.propertiesMs, introduce),
  ];

  return {
    /** Telemetry or properties; what cannot be sent now is measured anew. */
    publish: (channelId: string, subject: 'telemetry' | 'properties', text: string) => {
      if (!link.send(channelId, subject, text)) options.onPulse();
    },
    log: (channelId: string, { message, severity, persist }: DeviceLogEntry) => {
      const text = JSON.stringify({ timestamp: epochS(), message, severity, persist });
      if (persist) keep(channelId, 'log', text);
      else link.send(channelId, 'log', text);
    },
    /** The answer to a command; sent until it is acknowledged. */
    respond: (channelId: string, text: string) => keep(channelId, 'commandResponse', text),
    introduce,
    stop: () => {
      for (const timer of timers) timer.cancel();
    },
  };
}
