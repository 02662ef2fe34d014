/**
 * Which start of the program speaks for a module. Two boards with one connection configuration would carry out every
 * command twice, so the one that is there goes first, until its session ends or falls silent.
 */
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Commands } from '../commands/index.ts';
import type { Connectivity, DeviceMessage } from '../connectivity/index.ts';
import type { Device } from '../devices/index.ts';

type Session = DeviceMessage['session'];

interface Present {
  run: string;
  /** Undefined: the gateway itself speaks for the module. */
  session: Session;
}

interface ModuleRunsOptions {
  connectivity: Pick<Connectivity, 'silentMs' | 'turnAway'>;
  commands: Pick<Commands, 'underWay' | 'endAbandoned'>;
  clock: Pick<Clock, 'monotonicMs'>;
  /** A module says something each second; one that was silent for so long is gone. */
  silentMsMax: DurationMs;
  /** Least time between two logged hellos of one module. */
  helloLogIntervalMs: DurationMs;
}

export class ModuleRuns {
  readonly #options: ModuleRunsOptions;
  readonly #present = new Map<string, Present>();
  /** Of each module the last hello that was logged. */
  readonly #loggedHellos = new Map<string, { run: string; atMs: MonotonicMs }>();

  /** Module → what was under way on its devices when its last session ended. */
  readonly #open = new Map<string, ReturnType<Commands['underWay']>>();

  constructor(options: ModuleRunsOptions) {
    this.#options = options;
  }

  /** It said hello. A sentence for whoever installs boards: why it may not speak for the module. */
  greet(module: Device, run: string, session: Session): string | undefined {
    const present = this.#present.get(module.id);
    if (present?.session && session && present.run !== run && present.session.id !== session.id) {
      const silentMs = this.#options.connectivity.silentMs(present.session);
      if (silentMs !== undefined) {
        if (silentMs < this.#options.silentMsMax) return refusalOf(present.session.remoteAddress);
        this.#options.connectivity.turnAway(module, present.session, takenOver(session.remoteAddress));
      }
    }
    // What came since is carried out by this start.
    if (present?.run !== run) this.#options.commands.endAbandoned(this.#open.get(module.id) ?? []);
    this.#present.set(module.id, { run, session });
    return undefined;
  }

  /** A session of it has ended: another start does not end what it had begun. */
  sessionClosed(module: Device, carried: readonly Device[]): void {
    this.#open.set(
      module.id,
      carried.flatMap(({ id }) => this.#options.commands.underWay(id)),
    );
  }

  /** The run that speaks for it; undefined: none has said hello. */
  of(module: Device): string | undefined {
    return this.#present.get(module.id)?.run;
  }

  /** False for the session of one that may not speak while another one does. */
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
