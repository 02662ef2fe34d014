/** The devices that a module runs: what the gateway assigned, each with its lifecycle. */
import type { ToModule } from '../../protocol/module.ts';
import type { ContentLibrary } from './content-library.ts';
import type { ScriptLifecycle } from './script-lifecycle.ts';
import type { ConfigurationGroups } from './thread-messages.ts';

export interface DeviceRegistry {
  get(channelId: string): ScriptLifecycle | undefined;
  /** The whole truth: stops, replaces, starts, and leaves alone what is the same. */
  assign(message: ToModule & { type: 'assignments' }): void;
  configure(channelId: string, groups: ConfigurationGroups, written: readonly string[]): void;
  /** Undefined: all. */
  restart(channelId: string | undefined): void;
  /** Something arrived that some may have been waiting for. */
  tryStart(): void;
  /** Every device says its status again. */
  report(): void;
  count(state: ScriptLifecycle['state']): number;
  stop(): void;
}

export function createDeviceRegistry(options: {
  library: Pick<ContentLibrary, 'want'>;
  createLifecycle: (assignment: ScriptLifecycle['assignment']) => ScriptLifecycle;
}): DeviceRegistry {
  const lifecycles = new Map<string, ScriptLifecycle>();
  /** Configurations that came before their assignment. */
  const early = new Map<string, ConfigurationGroups>();

  return {
    get: (channelId) => lifecycles.get(channelId),
    assign: ({ devices }) => {
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
    configure: (channelId, groups, written) => {
      const lifecycle = lifecycles.get(channelId);
      if (lifecycle) lifecycle.configure(groups, written);
      else early.set(channelId, groups);
    },
    restart: (channelId) => {
      for (const [name, lifecycle] of lifecycles)
        if (channelId === undefined || name === channelId) lifecycle.restart();
    },
    tryStart: () => {
      for (const lifecycle of lifecycles.values()) lifecycle.tryStart();
    },
    report: () => {
      for (const lifecycle of lifecycles.values()) lifecycle.report();
    },
    count: (state) => [...lifecycles.values()].filter((lifecycle) => lifecycle.state === state).length,
    stop: () => {
      for (const lifecycle of lifecycles.values()) lifecycle.stop();
    },
  };
}
