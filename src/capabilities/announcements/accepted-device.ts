/** A device that was made of announcements: its messages come in, its commands go out, and whether it can be reached. */
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { CommandRequest, Connectivity, LocalSession } from '../connectivity/index.ts';
import type { Device } from '../devices/index.ts';
import { type Availability, isMeant, type Reading } from './model.ts';
import type { Announced } from './proposals.ts';

interface AcceptedOptions {
  clock: Pick<Clock, 'setTimer'>;
  connectivity: Pick<Connectivity, 'openLocalSession' | 'publishToGuests'>;
  device: Device;
  announced: Announced;
  /** Whether its account has a session. */
  isConnected: boolean;
}

export class AcceptedDevice {
  readonly #options: AcceptedOptions;
  #session: LocalSession | undefined;
  #isConnected: boolean;
  /** Topic → whether it said that the device is there. */
  readonly #available = new Map<string, boolean>();
  #latest: string | undefined;
  /** By attribute: until what happened counts as over. */
  readonly #overTimers = new Map<string, Timer>();

  constructor(options: AcceptedOptions) {
    this.#options = options;
    this.#isConnected = options.isConnected;
    this.#follow();
  }

  get deviceId(): string {
    return this.#options.device.id;
  }

  get announced(): Announced {
    return this.#options.announced;
  }

  /** Takes a message of its account; a promise resolves when the values are stored. */
  take(topic: string, payload: string): Promise<void> | void {
    const { availabilities, readings } = this.#options.announced;
    for (const one of availabilities.flatMap(({ topics }) => topics)) {
      const isAvailable = isMeant(one.topic, topic) ? one.read(payload) : undefined;
      if (isAvailable === undefined) continue;
      this.#available.set(one.topic, isAvailable);
      this.#latest = one.topic;
    }
    this.#follow();
    const body: Record<string, unknown> = {};
    for (const reading of readings)
      if (isMeant(reading.topic, topic)) {
        body[reading.attribute] = reading.read(payload);
        this.#awaitOver(reading, body[reading.attribute]);
      }
    const isEmpty = Object.values(body).every((value) => value === undefined);
    return isEmpty ? undefined : this.#session?.store('v1/telemetry', body);
  }

  #awaitOver({ attribute, offAfterMs }: Reading, value: unknown): void {
    if (offAfterMs === undefined || value === undefined) return;
    this.#overTimers.get(attribute)?.cancel();
    if (value !== true) return;
    const over = (): void => void this.#session?.store('v1/telemetry', { [attribute]: false });
    this.#overTimers.set(attribute, this.#options.clock.setTimer(offAfterMs, over));
  }

  setConnected(isConnected: boolean): void {
    this.#isConnected = isConnected;
    this.#follow();
  }

  log(message: string): void {
    this.#session?.send('v3/logs', { message, severity: 'warning' });
  }

  close(): void {
    for (const timer of this.#overTimers.values()) timer.cancel();
    this.#session?.close();
    this.#session = undefined;
  }

  /** Opens or closes the session as the device says. */
  #follow(): void {
    const { connectivity, device, announced } = this.#options;
    const isThere =
      this.#isConnected && announced.availabilities.length > 0
        ? announced.availabilities.some((availability) => this.#isAvailable(availability))
        : this.#isConnected;
    if (isThere && !this.#session)
      this.#session = connectivity.openLocalSession(device, (request) => void this.#execute(request));
    else if (!isThere) this.close();
  }

  /** A topic without a message so far counts as available: its device is sending. */
  #isAvailable({ topics, mode }: Availability): boolean {
    if (mode === 'latest') {
      const latest = topics.find(({ topic }) => topic === this.#latest);
      return latest
        ? this.#available.get(latest.topic) === true
        : topics.every(({ topic }) => this.#available.get(topic) !== false);
    }
    const states = topics.map(({ topic }) => this.#available.get(topic));
    return mode === 'all' ? !states.includes(false) : states.some((state) => state !== false);
  }

  async #execute({ id, name, arguments: given }: CommandRequest): Promise<void> {
    const problem = await this.#send(name, given).catch(() => 'The message could not be sent.');
    const state = problem === undefined ? 'completed' : 'error';
    const payload = problem === undefined ? {} : { message: problem };
    this.#session?.send('v1/command/responses', { id, state, payload });
  }

  /** @returns what went wrong */
  async #send(name: string, given: Record<string, unknown>): Promise<string | undefined> {
    const command = this.#options.announced.commands.find((one) => one.name === name);
    if (!command) return 'The device does not announce this command any more.';
    const message = command.write(command.argument && given[command.argument.name]);
    if (message === undefined) return 'The announced template makes no message of this value.';
    const reached = await this.#options.connectivity.publishToGuests(command.topic, message);
    return reached > 0 ? undefined : `Nobody is subscribed to "${command.topic}".`;
  }
}
