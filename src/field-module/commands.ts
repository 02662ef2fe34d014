/** Command requests that reach a module: for its devices, and for itself. */
import { MODULE_CHANNEL, moduleAnswer } from '../protocol/module.ts';
import { isObject } from '../lib/members.ts';
import type { DurationMs } from '../lib/time.ts';
import { exactJson, parseExactJson } from '../lib/json.ts';
import type { DeviceRegistry } from './device-registry.ts';

interface CommandOptions {
  registry: Pick<DeviceRegistry, 'get' | 'restart'>;
  respond: (channelId: string, text: string) => void;
  /** The request has no id, so nobody can be answered. */
  onUnreadable: (channelId: string) => void;
}

/** Takes one request, which may have waited for `waitedMs`. Every request with an id is answered. */
export function createCommands(
  options: CommandOptions,
): (channelId: string, payload: Buffer, waitedMs: DurationMs) => void {
  const { registry } = options;

  return (channelId, payload, waitedMs) => {
    const request = readRequest(payload);
    if (request === undefined) return options.onUnreadable(channelId);
    const { id, name, argumentsText } = request;
    const lifecycle = registry.get(channelId);
    if (lifecycle) return lifecycle.command({ id, name, argumentsText, waitedMs });
    const isOwn = channelId === MODULE_CHANNEL;
    if (isOwn && name === 'reboot') registry.restart(undefined);
    const answer = isOwn
      ? moduleAnswer(name)
      : { state: 'error', payload: { message: 'script is not running' } };
    options.respond(channelId, JSON.stringify({ id, ...answer }));
  };
}

function readRequest(payload: Buffer): { id: string; name: string; argumentsText: string } | undefined {
  let body: unknown;
  try {
    body = parseExactJson(payload.toString('utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
  if (!isObject(body)) return undefined;
  const { id, name, arguments: given } = body;
  if (typeof id !== 'string' || typeof name !== 'string') return undefined;
  return { id, name, argumentsText: exactJson(isObject(given) ? given : {}) };
}
