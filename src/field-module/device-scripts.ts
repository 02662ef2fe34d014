/** The threads that run scripts of devices, and the calls of these scripts. */
import type { Limits } from '../lib/limits.ts';
import type { Clock } from '../platform/clock/index.ts';
import { programEntry } from '../platform/processes/index.ts';
import type { startThread } from '../platform/threads/index.ts';
import { type ScriptRun, ScriptThreads, type ThreadLoss } from '#scripting/host';
import type { Calls } from './calls.ts';
import type { IoKind } from './field/index.ts';
import type { NoteExchange } from './trace.ts';
import type { CallResult, DeviceTypes, ScriptEvent, ScriptStart, Surroundings } from './thread-messages.ts';

export interface ScriptEvents {
  onEvent: (event: Exclude<ScriptEvent, { kind: 'exchange' }>) => void;
  /** Its thread ended because of this script, because of another one, or for an unknown reason. */
  onThreadLost: (because: 'itself' | 'neighbour' | 'unknown', message: string) => void;
}

interface DeviceScriptsOptions {
  clock: Clock;
  limits: Pick<Limits, 'lua' | 'rules' | 'module'>;
  calls: Pick<Calls, 'carryOut' | 'release'>;
  /** Takes the exchanges of a device that is traced. */
  traceOf?: (channelId: string) => NoteExchange | undefined;
  surroundings: Surroundings;
  /** Device file of each serial port by its name. */
  ports: Readonly<Record<string, string>>;
  /** Kind of every other port by its name. */
  ioPorts?: Readonly<Record<string, IoKind>>;
  /** This program failed to carry out a call; the script gets an error, and everything else goes on. */
  onFault: (error: unknown) => void;
  /** Default: real threads. */
  startThread?: typeof startThread;
}

export class DeviceScripts {
  readonly #options: DeviceScriptsOptions;
  readonly #threads: ScriptThreads<DeviceTypes>;

  constructor(options: DeviceScriptsOptions) {
    const { scriptsPerThread, threadHeapMib, threadYoungHeapMib } = options.limits.module;
    this.#options = options;
    this.#threads = new ScriptThreads<DeviceTypes>({
      clock: options.clock,
      limits: options.limits,
      entry: programEntry('field-module/script-thread'),
      heapMaxMib: threadHeapMib,
      youngHeapMaxMib: threadYoungHeapMib,
      sharedThreads: 1,
      scriptsPerThread,
      solitaryThreads: Number.POSITIVE_INFINITY,
      shared: options.surroundings,
      ...(options.startThread && { start: options.startThread }),
    });
  }

  /** `isAlone`: in a thread of its own, because it once took its thread down. */
  start(
    script: Omit<ScriptStart, 'ports' | 'ioPorts'>,
    events: ScriptEvents,
    isAlone: boolean,
  ): { tell: ScriptRun<DeviceTypes>['tell']; stop: () => void } {
    const { calls, ports, ioPorts = {}, traceOf = () => undefined } = this.#options;
    const { channelId } = script;
    const run = this.#threads.start(
      { ...script, ports, ioPorts },
      {
        onEvent: (event) =>
          event.kind === 'exchange' ? traceOf(channelId)?.(event.exchange) : events.onEvent(event),
        onRequest: (request, answer) => {
          calls.carryOut(run.number, request, traceOf(channelId)).then(answer, (error: unknown) => {
            this.#options.onFault(error);
            answer({ kind: 'fault', fault: { text: 'internal fault', number: 7 } } satisfies CallResult);
          });
        },
        onOver: () => calls.release(run.number),
        onThreadLost: (loss) => {
          calls.release(run.number);
          // In the middle of a slice the cause is known; otherwise all scripts pause.
          if (loss.culprit === undefined) events.onThreadLost('unknown', reasonOf(loss));
          else if (loss.culprit === run.number) events.onThreadLost('itself', reasonOf(loss));
          else events.onThreadLost('neighbour', 'a script beside it was stuck and its thread was ended');
        },
      },
      isAlone,
    );
    return {
      tell: (order) => run.tell(order),
      stop: () => {
        if (run.stop()) calls.release(run.number);
      },
    };
  }

  /** Sends the shared state to every thread. */
  surround(surroundings: Surroundings): void {
    this.#threads.share(surroundings);
  }

  stop(): Promise<void> {
    return this.#threads.stop();
  }
}

function reasonOf({ wasStuck, error }: ThreadLoss): string {
  return wasStuck ? 'execution time exceeded' : `its thread ended: ${error?.message ?? 'without a reason'}`;
}
