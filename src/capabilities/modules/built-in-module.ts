import type { EpochS } from '../../lib/time.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Exit, Program } from '../../platform/processes/index.ts';
import {
  MODULE_INTERVALS,
  MODULE_PROTOCOL,
  MODULE_SUBJECT,
  moduleAnswer,
  moduleProperties,
  moduleTelemetry,
} from '../../protocol/module.ts';
import type { CommandRequest, Connectivity, LocalSession } from '../connectivity/index.ts';
import { RESTING } from './scans.ts';
import type { Device, Devices } from '../devices/index.ts';

interface BuiltInModuleOptions {
  clock: Clock;
  devices: Pick<Devices, 'all' | 'events'>;
  connectivity: Pick<Connectivity, 'openLocalSession'>;
  module: () => Device;
  /** Member `offers` of its hello, with its present ports. */
  offers: () => string[];
  /** Creates its process without starting it. */
  program: (on: { onEnded: (exit: Exit) => void }) => Pick<Program, 'start' | 'release' | 'stop' | 'state'>;
  /** The process ended unasked. */
  onEnded: () => void;
}

/**
 * The gateway's own communication module. Its process runs while it carries a device, and some time longer. While it
 * carries none, the process rests, and the gateway sends the messages of a module without scripts in its place. The process
 * starts before the first device gets a message.
 *
 *   resting ─first device, or a scan─▶ running ─last one is gone─▶ running, released ─idle─▶ resting
 */
export class BuiltInModule {
  readonly #options: BuiltInModuleOptions;
  readonly #program: ReturnType<BuiltInModuleOptions['program']>;
  readonly #unsubscribe: (() => void)[];
  #session: LocalSession | undefined;
  #timers: Timer[] = [];
  #borrowers = 0;
  #isStopped = false;

  constructor(options: BuiltInModuleOptions) {
    this.#options = options;
    this.#program = options.program({
      onEnded: ({ wasAsked }) => {
        if (wasAsked) this.#demand();
        else options.onEnded();
      },
    });
    const { events } = options.devices;
    const owner = 'built-in module';
    this.#unsubscribe = [
      events.on('device_created', owner, () => this.#demand()),
      events.on('device_deleted', owner, () => this.#demand()),
    ];
  }

  /** Starts its process, or opens a session in its place. */
  start(): void {
    this.#demand();
  }

  /** Its ports have changed: they are part of the permissions of its process, which is restarted. */
  portsChanged(): void {
    if (this.#session) this.#closeSession();
    else if (this.#program.state !== 'stopped') void this.#program.stop();
    this.#demand();
  }

  /** Keeps its process running, even without a device, until the returned function is called. */
  borrow(): () => void {
    let isBorrowed = true;
    this.#borrowers += 1;
    this.#demand();
    return () => {
      if (!isBorrowed) return;
      isBorrowed = false;
      this.#borrowers -= 1;
      this.#demand();
    };
  }

  /** Ends its messages. The owner of its process stops that. */
  stop(): void {
    this.#isStopped = true;
    for (const end of this.#unsubscribe) end();
    this.#closeSession();
  }

  #demand(): void {
    if (this.#isStopped) return;
    const { id } = this.#options.module();
    const { devices } = this.#options;
    if (this.#borrowers > 0 || devices.all().some(({ communication }) => communication.upstreamId === id)) {
      // The session of the process follows within the grace period of every client.
      this.#closeSession();
      this.#program.start();
    } else if (this.#program.state === 'stopped') this.#openSession();
    else this.#program.release();
  }

  #openSession(): void {
    if (this.#session) return;
    const { clock, connectivity, module, offers } = this.#options;
    const epochS = (): EpochS => Math.floor(clock.wallMs() / 1_000);
    const session = connectivity.openLocalSession(module(), (request) => this.#answerCommand(request));
    const sendProperties = (): void => session.send('v1/register', moduleProperties(epochS()));
    const sendTelemetry = (): void =>
      session.send('v1/telemetry', moduleTelemetry(epochS(), { running: 0, failed: 0, portsFailed: 0 }));
    this.#session = session;
    session.send(MODULE_SUBJECT, {
      type: 'hello',
      version: MODULE_PROTOCOL.version,
      run: RESTING,
      offers: offers(),
    });
    sendProperties();
    this.#timers = [
      clock.setTimer(MODULE_INTERVALS.telemetryMs, sendTelemetry),
      clock.setRepeating(MODULE_INTERVALS.telemetryMs, () =>
        session.send('v1/telemetry', { timestamp: epochS() }),
      ),
      clock.setRepeating(MODULE_INTERVALS.restingMs, sendTelemetry),
      clock.setRepeating(MODULE_INTERVALS.propertiesMs, sendProperties),
    ];
  }

  /** It has no script, so commands do nothing. */
  #answerCommand({ id, name }: CommandRequest): void {
    const answer = this.#options.clock.setTimer(0, () =>
      this.#session?.send('v1/command/responses', { id, ...moduleAnswer(name) }),
    );
    this.#timers.push(answer);
  }

  #closeSession(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
    this.#session?.close();
    this.#session = undefined;
  }
}
