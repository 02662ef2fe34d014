/**
 * Decides which run of the program may act as a module. Two boards with one connection configuration would execute every
 * command twice, so the present run has priority until its session ends or falls silent.
 */
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Commands } from '../commands/index.ts';
import type { Connectivity, DeviceMessage } from '../connectivity/index.ts';
import type { Device } from '../devices/index.ts';

type Session = DeviceMessage['session'];

interface Present {
  run: string;
  /** Undefined when the gateway itself acts for the module. */
  session: Session;
}

interface ModuleRunsOptions {
  connectivity: Pick<Connectivity, 'silentMs' | 'turnAway'>;
  commands: Pick<Commands, 'underWay' | 'endAbandoned'>;
  clock: Pick<Clock, 'monotonicMs'>;
  /** A module sends something each second; after this silence it counts as gone. */
  silentMsMax: DurationMs;
  /** Least time between two logged hellos of one module. */
  helloLogIntervalMs: DurationMs;
}

export class ModuleRuns {
  readonly #options: ModuleRunsOptions;
  readonly #present = new Map<string, Present>();
  /** The last logged hello of each module. */
  readonly #loggedHellos = new Map<string, { run: string; atMs: MonotonicMs }>();
  /** Module → open executions on its devices when its last session ended. */
  readonly #open = new Map<string, ReturnType<Commands['underWay']>>();

  constructor(options: ModuleRunsOptions) {
    this.#options = options;
  }

  /** Handles a hello. Returns why the run may not act as the module, in a sentence for the installer. */
  greet(module: Device, run: string, session: Session): string | undefined {
    const present = this.#present.get(module.id);
    if (present?.session && session && present.run !== run && present.session.id !== session.id) {
      const silentMs = this.#options.connectivity.silentMs(present.session);
      if (silentMs !== undefined) {
        if (silentMs < this.#options.silentMsMax) return refusalOf(present.session.remoteAddress);
        this.#options.connectivity.turnAway(module, present.session, takenOver(session.remoteAddress));
      }
    }
    // Commands since the session ended are executed by this run; earlier ones are lost.
    if (present?.run !== run) this.#options.commands.endAbandoned(this.#open.get(module.id) ?? []);
    this.#present.set(module.id, { run, session });
    return undefined;
  }

  /** A session of the module has ended: notes the open executions, which another run would not finish. */
  sessionClosed(module: Device, carried: readonly Device[]): void {
    this.#open.set(
      module.id,
      carried.flatMap(({ id }) => this.#options.commands.underWay(id)),
    );
  }

  /** The run that acts as the module; undefined before the first hello. */
  of(module: Device): string | undefined {
    return this.#present.get(module.id)?.run;
  }

  /** False for the session of a run while another one acts as the module. */
  maySpeak(module: Device, session: Session): boolean {
    const present = this.#present.get(module.id)?.session;
    if (!present || !session || present.id === session.id) return true;
    return this.#options.connectivity.silentMs(present) === undefined;
  }

  /** Whether to log a hello: once for each start of a module, and not more often than modules start. */
  shouldLogHello(module: Device, run: string): boolean {
    const atMs = this.#options.clock.monotonicMs();
    const last = this.#loggedHellos.get(module.id);
    if (last && (last.run === run || atMs - last.atMs < this.#options.helloLogIntervalMs)) return false;
    this.#loggedHellos.set(module.id, { run, atMs });
    return true;
  }

  forget(module: Device): void {
    this.#present.delete(module.id);
    this.#loggedHellos.delete(module.id);
    this.#open.delete(module.id);
  }
}

function refusalOf(address: string): string {
  return (
    `A module with the same connection configuration is connected from ${address}. ` +
    'End one of the two, or provision another module for this board.'
  );
}

function takenOver(address: string): string {
  return `The module has fallen silent; another start of it, from ${address}, goes on.`;
}
