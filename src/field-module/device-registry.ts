/** The devices that the gateway assigned to a module, each with the lifecycle of its script. */
import { exactJson, parseExactJson } from '../lib/json.ts';
import { isObject } from '../lib/members.ts';
import type { DurationMs } from '../lib/time.ts';
import { MODULE_CHANNEL, moduleAnswer } from '../protocol/module.ts';
import type { ContentLibrary } from './content-library.ts';
import type { ScriptLifecycle } from './script-lifecycle.ts';
import type { ConfigurationGroups } from './thread-messages.ts';

export type DeviceRegistry = ReturnType<typeof createDeviceRegistry>;

export function createDeviceRegistry(options: {
  library: Pick<ContentLibrary, 'want'>;
  createLifecycle: (assignment: ScriptLifecycle['assignment']) => ScriptLifecycle;
}) {
  const lifecycles = new Map<string, ScriptLifecycle>();
  /** Configurations that came before their assignment. */
  const early = new Map<string, ConfigurationGroups>();

  return {
    get: (channelId: string) => lifecycles.get(channelId),
    /** Takes the whole list: stops and replaces scripts, starts new ones, and leaves unchanged ones alone. */
    assign: (devices: readonly ScriptLifecycle['assignment'][]) => {
      const assigned = new Map(devices.map((assignment) => [assignment.channel_id, assignment]));
      for (const [channelId, lifecycle] of lifecycles)
        if (!assigned.has(channelId)) {
          lifecycles.delete(channelId);
          lifecycle.stop();
        }
      options.library.want(devices.flatMap(({ script, facts }) => [script, facts]));
      for (const [channelId, assignment] of assigned) {
        const lifecycle = lifecycles.getOrInsertComputed(channelId, () =>
          options.createLifecycle(assignment),
        );
        lifecycle.assign(assignment);
        const groups = early.get(channelId);
        if (groups) lifecycle.configure(groups, []);
        lifecycle.tryStart();
      }
      early.clear();
    },
    configure: (channelId: string, groups: ConfigurationGroups, written: readonly string[]) => {
      const lifecycle = lifecycles.get(channelId);
      if (lifecycle) lifecycle.configure(groups, written);
      else early.set(channelId, groups);
    },
    /** Undefined: all. `assignmentCount`: of the device, when that is why. */
    restart: (channelId: string | undefined, assignmentCount?: number) => {
      for (const [name, lifecycle] of lifecycles)
        if (channelId === undefined || name === channelId) lifecycle.restart(assignmentCount);
    },
    /** Content arrived that scripts may have been waiting for. */
    tryStart: () => {
      for (const lifecycle of lifecycles.values()) lifecycle.tryStart();
    },
    /** Reports the status of every device again. */
    report: () => {
      for (const lifecycle of lifecycles.values()) lifecycle.report();
    },
    count: (state: ScriptLifecycle['state']) =>
      [...lifecycles.values()].filter((lifecycle) => lifecycle.state === state).length,
    stop: () => {
      for (const lifecycle of lifecycles.values()) lifecycle.stop();
    },
  };
}

// Command requests that reach a module: for its devices, and for itself.

interface CommandOptions {
  registry: Pick<DeviceRegistry, 'get' | 'restart'>;
  respond: (channelId: string, text: string) => void;
  /** The request has no id, so there is nobody to answer. */
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
