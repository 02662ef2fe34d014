/** Requests to modules, each with a time limit. */
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Device } from '../devices/index.ts';
import type { FromModule, ToModule } from '../../protocol/module.ts';

type AnsweredMessage = ToModule & { type: 'configuration_check' | 'configuration_read' };
type Without<Message, Name extends string> = Message extends unknown ? Omit<Message, Name> : never;
type ModuleRequest = Without<AnsweredMessage, 'id'>;
/** A request that concerns one device of a module. */
export type DeviceRequest = Without<AnsweredMessage, 'id' | 'channel_id'>;
export type ModuleAnswer = FromModule & { type: 'configuration_verdict' | 'configuration_values' };

export type ModuleRequests = ReturnType<typeof createModuleRequests>;

export function createModuleRequests(options: {
  clock: Clock;
  withinMs: DurationMs;
  send: (module: Device, message: ToModule) => void;
}) {
  const open = new Map<string, { moduleId: string; finish: (answer: ModuleAnswer | undefined) => void }>();
  let lastId = 0;

  return {
    /** Resolves with the answer of the module; undefined when none comes in time. Never rejects. */
    send: (module: Device, request: ModuleRequest) =>
      new Promise<ModuleAnswer | undefined>((resolve) => {
        const id = String(++lastId);
        const timer = options.clock.setTimer(options.withinMs, () => finish(undefined));
        const finish = (answer: ModuleAnswer | undefined): void => {
          timer.cancel();
          open.delete(id);
          resolve(answer);
        };
        open.set(id, { moduleId: module.id, finish });
        options.send(module, { ...request, id });
      }),
    /** Handles an answer. False when no request to this module waits for it. */
    settle: (module: Device, answer: ModuleAnswer) => {
      const waiting = open.get(answer.id);
      if (waiting?.moduleId !== module.id) return false;
      waiting.finish(answer);
      return true;
    },
    /** Ends open requests to a module that will not answer. */
    giveUp: (module: Device) => {
      for (const { moduleId, finish } of open.values()) if (moduleId === module.id) finish(undefined);
    },
  };
}
