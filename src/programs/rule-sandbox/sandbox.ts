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
} from '../../protocol/rule-sandbox.ts';
import { Supervisor } from './supervisor.ts';

export interface Sandbox {
  receive: (payload: Payload) => void;
  /** Resolves when all threads are gone. */
  stop(): Promise<void>;
}

export function createSandbox(options: {
  link: Pick<ParentLink, 'send' | 'drained'>;
  settings: SandboxSettings;
  clock: Clock;
  log: Log;
  limits: Pick<Limits, 'lua' | 'rules'>;
}): Sandbox {
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
  return {
    receive: (payload) => supervisor.receive(decodeToSandbox(payload)),
    stop: () => supervisor.stop(),
  };
}

const WARN_MS = 60_000;
