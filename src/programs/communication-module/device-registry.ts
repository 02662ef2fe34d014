/** The devices that a module runs: what the gateway assigned, each with its lifecycle. */
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
    /** The whole truth: stops, replaces, starts, and leaves alone what is the same. */
    assign: (devices: readonly ScriptLifecycle['assignment'][]) => {
      const assigned = new Map(devices.map((assignment) => [assignment.channel_id, assignment]));
      for (const [channelId, lifecycle] of lifecycles)
        if (!assigned.has(channelId)) {
          lifecycles.delete(channelId);
          lifecycle.stop();
        }
      options.library.want(devices.flatMap(({ script, facts }) => [script, facts]));
      for (const [channelId, assignment] of assigned) {
        const lifecycle = lifecycles.get(channelId) ?? options.createLifecycle(assignment);
        lifecycles.set(channelId, lifecycle);
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
    /** Something arrived that some may have been waiting for. */
    tryStart: () => {
      for (const lifecycle of lifecycles.values()) lifecycle.tryStart();
    },
    /** Every device says its status again. */
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
