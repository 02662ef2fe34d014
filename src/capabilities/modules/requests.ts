/** Requests to modules, with a time limit each: an answer that does not come is no answer. */
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Device } from '../devices/index.ts';
import type { FromModule, ToModule } from '../../protocol/module.ts';

type AnsweredMessage = ToModule & { type: 'configuration_check' | 'configuration_read' };
type WithoutId<Message> = Message extends unknown ? Omit<Message, 'id'> : never;
export type ModuleRequest = WithoutId<AnsweredMessage>;
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
    /** Resolves with what the module says; undefined: nothing, in time. Never rejects. */
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
    /** An answer came. False: nobody waits for it, from this module. */
    settle: (module: Device, answer: ModuleAnswer) => {
      const waiting = open.get(answer.id);
      if (waiting?.moduleId !== module.id) return false;
      waiting.finish(answer);
      return true;
    },
    /** Answers that are waited for do not come any more. */
    giveUp: (module: Device) => {
      for (const { moduleId, finish } of open.values()) if (moduleId === module.id) finish(undefined);
    },
  };
}
