/** Connects the channel to the gateway with rules and dry runs. */
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { ParentLink, Payload } from '../../platform/processes/index.ts';
import {
  decodeToSandbox,
  encodeSandboxMessage,
  type SandboxOrder,
  type SandboxSettings,
} from '../../protocol/rule-sandbox.ts';
import { DryRunHost } from './dry-run-host.ts';
import { Supervisor } from './supervisor.ts';
import { createReporter } from './reporter.ts';

export function createSandbox(options: {
  link: Pick<ParentLink, 'send' | 'drained' | 'isClosed'>;
  settings: SandboxSettings;
  clock: Clock;
  log: Log;
  limits: Pick<Limits, 'lua' | 'rules'>;
}) {
  const { link } = options;
  const supervisor = new Supervisor({
    ...options,
    site: options.settings.site,
    send: createReporter(options),
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

  function receive(message: SandboxOrder): void {
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
