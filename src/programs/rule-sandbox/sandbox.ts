/** The sandbox between its channel to the gateway and its rules. */
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { ParentLink, Payload } from '../../platform/processes/index.ts';
import {
  decodeToSandbox,
  encodeSandboxMessage,
  type FromSandbox,
  type SandboxSettings,
  type ToSandbox,
} from '../../protocol/rule-sandbox.ts';
import { DryRunHost } from './dry-run-host.ts';
import { Supervisor } from './supervisor.ts';

export function createSandbox(options: {
  link: Pick<ParentLink, 'send' | 'drained'>;
  settings: SandboxSettings;
  clock: Clock;
  log: Log;
  limits: Pick<Limits, 'lua' | 'rules'>;
}) {
  const { link, log } = options;
  /** States that could not be told yet: the newest of each rule counts. */
  const untold = new Map<string, FromSandbox>();

  async function tellStates(): Promise<void> {
    while (untold.size > 0) {
      await link.drained();
      for (const [ruleId, message] of untold)
        if (link.send(encodeSandboxMessage(message))) untold.delete(ruleId);
        else break;
    }
  }

  const supervisor = new Supervisor({
    ...options,
    site: options.settings.site,
    send: (message) => {
      const isUntold = message.type === 'state' && untold.has(message.ruleId);
      if (!isUntold && link.send(encodeSandboxMessage(message))) return true;
      log.warnLimited(message.type, WARN_MS, 'a message to the gateway was dropped', { type: message.type });
      if (message.type === 'state') {
        const isTelling = untold.size > 0;
        untold.set(message.ruleId, message);
        if (!isTelling) void tellStates();
      }
      return false;
    },
  });
  let { site } = options.settings;
  const dryRuns = new DryRunHost({
    ...options,
    site: () => site,
    send: async (message) => {
      const text = encodeSandboxMessage(message);
      if (link.send(text)) return true;
      await link.drained();
      return link.send(text);
    },
  });

  function receive(message: ToSandbox): void {
    if ('dryRun' in message) dryRuns.receive(message);
    else {
      if (message.type === 'site') site = message.site;
      supervisor.receive(message);
    }
  }

  return {
    receive: (payload: Payload) => receive(decodeToSandbox(payload)),
    /** Resolves when all threads are gone. */
    stop: async () => {
      await Promise.all([supervisor.stop(), dryRuns.stop()]);
    },
  };
}

const WARN_MS = 60_000;
