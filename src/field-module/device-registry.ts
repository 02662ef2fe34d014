/** The devices that the gateway assigned to a module, each with the lifecycle of its script. */
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
