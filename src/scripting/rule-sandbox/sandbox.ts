/** Connects the channel to the gateway with rules and dry runs. */
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { ParentLink, Payload } from '../../platform/processes/index.ts';
import {
  decodeToSandbox,
  encodeSandboxMessage,
  type SandboxOrder,
  type SandboxReport,
  type SandboxSettings,
} from '../../protocol/rule-sandbox.ts';
import { DryRunHost } from './dry-run-host.ts';
import { Supervisor } from './supervisor.ts';

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

// Sends the supervisor's messages to the gateway. A message without room is dropped, unless it must arrive: the newest
// state of each rule, the ends of runs, and the number of entries that are missing in the log of a rule.

const WARN_MS = 60_000;

/** False: the message was dropped, or waits. */
export function createReporter(options: {
  link: Pick<ParentLink, 'send' | 'drained' | 'isClosed'>;
  clock: Pick<Clock, 'wallMs'>;
  log: Log;
}): (message: SandboxReport) => boolean {
  const { link, clock, log } = options;
  /** By subject; the newest message of each counts. */
  const waiting = new Map<string, SandboxReport>();
  /** Number of missing entries by rule. */
  const missing = new Map<string, number>();
  let isTelling = false;

  async function tellWaiting(): Promise<void> {
    isTelling = true;
    while (waiting.size > 0 && !link.isClosed) {
      await link.drained();
      for (const [key, message] of waiting) {
        if (!link.send(encodeSandboxMessage(message))) break;
        waiting.delete(key);
        if (message.type === 'log') missing.delete(message.ruleId);
      }
    }
    isTelling = false;
  }

  function summaryOf({ ruleId, generation, entries }: SandboxReport & { type: 'log' }): SandboxReport {
    const count = (missing.get(ruleId) ?? 0) + entries.length;
    missing.set(ruleId, count);
    const message = `${count} log entries were dropped: the gateway did not read fast enough`;
    return {
      type: 'log',
      ruleId,
      generation,
      entries: [{ timestampMs: clock.wallMs(), severity: 'warning', message }],
    };
  }

  function keep(key: string, message: SandboxReport): void {
    waiting.set(key, message);
    if (!isTelling) void tellWaiting();
  }

  return (message) => {
    const isBehind = message.type === 'state' && waiting.has(`state ${message.ruleId}`);
    if (!isBehind && link.send(encodeSandboxMessage(message))) return true;
    log.warnLimited(message.type, WARN_MS, 'a message to the gateway was dropped', { type: message.type });
    if (message.type === 'state') keep(`state ${message.ruleId}`, message);
    else if (message.type === 'run_ended') keep(`run ${message.run}`, message);
    else if (message.type === 'log') keep(`log ${message.ruleId}`, summaryOf(message));
    return false;
  };
}
