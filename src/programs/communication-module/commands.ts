/** Command requests that reach a module: for its devices, and for itself. */
import { MODULE_CHANNEL, moduleAnswer } from '../../protocol/module.ts';
import type { DurationMs } from '../../lib/time.ts';
import { exactJson, parseExactJson } from '../../protocol/telemetry.ts';
import type { DeviceRegistry } from './device-registry.ts';

interface CommandOptions {
  registry: Pick<DeviceRegistry, 'get' | 'restart'>;
  respond: (channelId: string, text: string) => void;
  /** Nobody's request. */
  onUnreadable: (channelId: string) => void;
}

/** Takes one request, which may have waited for `waitedMs`. Whatever it asks for, it is answered, unless it has no id. */
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
  if (typeof body !== 'object' || body === null) return undefined;
  const { id, name, arguments: given } = body as Record<string, unknown>;
  if (typeof id !== 'string' || typeof name !== 'string') return undefined;
  const isTable = typeof given === 'object' && given !== null && !Array.isArray(given);
  return { id, name, argumentsText: exactJson(isTable ? given : {}) };
}
