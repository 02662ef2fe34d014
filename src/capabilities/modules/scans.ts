/**
 * Scans for units that modules make for a caller: one per address, ended when the caller leaves. The built-in module
 * is woken for them.
 */
import { conflict, unprocessable } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import { type Clock, type Timer, within } from '../../platform/clock/index.ts';
import type { FromModule, ToModule } from '../../protocol/module.ts';
import type { Commands } from '../commands/index.ts';
import type { Connectivity, DeviceMessage } from '../connectivity/index.ts';
import type { Device } from '../devices/index.ts';

/** Run in the hello of the built-in module while its process rests. */
export const RESTING = 'resting';

/** Which units to look for, and where. */
export type ScanOrder = Omit<ToModule & { type: 'scan' }, 'type' | 'id'>;
/** A unit that a scan found. */
export type ScanUnit = FromModule & { type: 'scan_unit' };
type ModuleEnd = FromModule & { type: 'scan_end' };
/** `module_lost`: the module restarted, or does not answer any more. */
export type ScanEnd = {
  type: 'scan_end';
  outcome: ModuleEnd['outcome'] | 'module_lost';
  reason?: string | undefined;
};

interface ScansOptions {
  clock: Clock;
  limits?: Limits;
  send: (module: Device, message: ToModule) => void;
  /** Keeps the process of a module that may rest running until the returned function is called. */
  wake: (module: Device) => (() => void) | undefined;
}

export class ModuleScans {
  readonly #options: ScansOptions;
  readonly #limits: Limits;
  readonly #open = new Map<string, Scan>();
  /** Runs of the modules that are online. */
  readonly #runs = new Map<string, string>();
  readonly #greeted = new Set<() => void>();
  #lastId = 0;

  constructor(options: ScansOptions) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS;
  }

  /**
   * Begins a scan, which runs until it is complete or closed, or until the signal is aborted.
   * @throws GatewayError device_offline (422), scan_active (409)
   */
  async start(module: Device, order: ScanOrder, signal: AbortSignal): Promise<Scan> {
    const { clock, send, wake } = this.#options;
    const place = `${module.id} ${order.uri.toLowerCase()}`;
    const isTaken = [...this.#open.values()].some((other) => other.place === place);
    if (isTaken || this.#open.size >= this.#limits.field.scansAtOnce)
      throw conflict(
        'scan_active',
        'Another scan of this line goes on, or as many scans as may go on at once; try again when it is over.',
      );
    const id = `scan-${++this.#lastId}`;
    const giveBack = wake(module);
    const scan = new Scan({
      place,
      moduleId: module.id,
      clock,
      silenceMs: this.#limits.module.scanSilenceMs,
      onClosed: (wasOver) => {
        this.#open.delete(id);
        if (scan.isAsked && !wasOver) send(module, { type: 'scan_stop', id });
        giveBack?.();
      },
    });
    this.#open.set(id, scan);
    signal.addEventListener('abort', () => scan.close(), { once: true });
    try {
      await this.#ready(module);
      signal.throwIfAborted();
    } catch (error) {
      scan.close();
      throw error;
    }
    scan.isAsked = true;
    send(module, { type: 'scan', id, ...order });
    return scan;
  }

  receive(module: Device, message: ScanUnit | ModuleEnd): void {
    const scan = this.#open.get(message.id);
    if (scan?.moduleId === module.id) scan.add(message);
  }

  /** After a hello of the module, scans of its earlier run are lost. */
  greeted(module: Device, run: string): void {
    const before = this.#runs.get(module.id) ?? RESTING;
    this.#runs.set(module.id, run);
    if (before !== run && before !== RESTING) this.#endScans(module, 'it started again');
    for (const look of this.#greeted) look();
  }

  moduleOffline(module: Device): void {
    this.#runs.delete(module.id);
    this.#endScans(module, 'it went offline');
  }

  #endScans(module: Device, reason: string): void {
    for (const scan of this.#open.values())
      if (scan.moduleId === module.id && scan.isAsked)
        scan.add({ type: 'scan_end', outcome: 'module_lost', reason });
  }

  /** Waits for a resting module to start. @throws GatewayError device_offline (422) */
  async #ready(module: Device): Promise<void> {
    const run = (): string | undefined => this.#runs.get(module.id);
    if (run() === undefined) throw offline(module);
    if (run() !== RESTING) return;
    const started = Promise.withResolvers<true>();
    const look = (): void => {
      if (run() !== RESTING) started.resolve(true);
    };
    this.#greeted.add(look);
    const isThere = await within(this.#options.clock, this.#limits.module.scanReadyMs, started.promise);
    this.#greeted.delete(look);
    if (isThere === undefined || run() === undefined) throw offline(module);
  }
}

interface ScanOptions {
  /** Module and address. */
  place: string;
  moduleId: string;
  clock: Clock;
  silenceMs: DurationMs;
  /** `wasOver` is false when the module has not ended the scan. */
  onClosed: (wasOver: boolean) => void;
}

/** A running scan with its events. */
export class Scan {
  readonly place: string;
  readonly moduleId: string;
  /** The module got the request to scan. */
  isAsked = false;
  readonly #options: ScanOptions;
  readonly #events: (ScanUnit | ScanEnd)[] = [];
  #wake: (() => void) | undefined;
  #isOver = false;
  #isClosed = false;
  #silence: Timer | undefined;

  constructor(options: ScanOptions) {
    this.place = options.place;
    this.moduleId = options.moduleId;
    this.#options = options;
    this.#expect();
  }

  /** The next event, the last of which is the end; undefined after that, and once closed. */
  async next(): Promise<ScanUnit | ScanEnd | undefined> {
    while (this.#events.length === 0 && !this.#isClosed)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    const event = this.#events.shift();
    if (event?.type === 'scan_end') this.close();
    return event;
  }

  add(event: ScanUnit | ScanEnd): void {
    if (this.#isOver || this.#isClosed) return;
    this.#events.push(event);
    this.#isOver = event.type === 'scan_end';
    this.#silence?.cancel();
    if (!this.#isOver) this.#expect();
    this.#wake?.();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#silence?.cancel();
    this.#options.onClosed(this.#isOver);
    this.#wake?.();
  }

  #expect(): void {
    const { clock, silenceMs } = this.#options;
    const reason = 'it does not answer';
    this.#silence = clock.setTimer(silenceMs, () =>
      this.add({ type: 'scan_end', outcome: 'module_lost', reason }),
    );
  }
}

function offline(module: Device) {
  return unprocessable(
    'device_offline',
    `The module "${module.name}" is offline: it can look for nothing now.`,
  );
}

// Decides which run of the program may act as a module. Two boards with one connection configuration would execute every
// command twice, so the present run has priority until its session ends or falls silent.

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
