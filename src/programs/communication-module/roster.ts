/** The devices that a module runs: what the gateway assigned, each with its life. */
import type { ToModule } from '../../protocol/module.ts';
import type { ContentLibrary } from './content-library.ts';
import type { DeviceLife } from './device-life.ts';
import type { ConfigurationGroups } from './thread-messages.ts';

export interface Roster {
  get(channelId: string): DeviceLife | undefined;
  /** The whole truth: stops, replaces, starts, and leaves alone what is the same. */
  assign(message: ToModule & { type: 'assignments' }): void;
  configure(channelId: string, groups: ConfigurationGroups, written: readonly string[]): void;
  /** Undefined: all. */
  restart(channelId: string | undefined): void;
  /** Something arrived that some may have been waiting for. */
  tryStart(): void;
  /** Every device says its status again. */
  report(): void;
  count(state: DeviceLife['state']): number;
  stop(): void;
}

export function createRoster(options: {
  library: Pick<ContentLibrary, 'want'>;
  createLife: (assignment: DeviceLife['assignment']) => DeviceLife;
}): Roster {
  const lives = new Map<string, DeviceLife>();
  /** Configurations that came before their assignment. */
  const early = new Map<string, ConfigurationGroups>();

  return {
    get: (channelId) => lives.get(channelId),
    assign: ({ devices }) => {
      const assigned = new Map(devices.map((assignment) => [assignment.channel_id, assignment]));
      for (const [channelId, life] of lives)
        if (!assigned.has(channelId)) {
          lives.delete(channelId);
          life.stop();
        }
      options.library.want(devices.flatMap(({ script, facts }) => [script, facts]));
      for (const [channelId, assignment] of assigned) {
        const life = lives.get(channelId) ?? options.createLife(assignment);
        lives.set(channelId, life);
        life.assign(assignment);
        const groups = early.get(channelId);
        if (groups) life.configure(groups, []);
        life.tryStart();
      }
      early.clear();
    },
    configure: (channelId, groups, written) => {
      const life = lives.get(channelId);
      if (life) life.configure(groups, written);
      else early.set(channelId, groups);
    },
    restart: (channelId) => {
      for (const [name, life] of lives) if (channelId === undefined || name === channelId) life.restart();
    },
    tryStart: () => {
      for (const life of lives.values()) life.tryStart();
    },
    report: () => {
      for (const life of lives.values()) life.report();
    },
    count: (state) => [...lives.values()].filter((life) => life.state === state).length,
    stop: () => {
      for (const life of lives.values()) life.stop();
    },
  };
}
