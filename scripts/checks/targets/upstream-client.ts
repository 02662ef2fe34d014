/**
 * The receiver behind the broker: keeps all telemetry with a session that the broker keeps, and sends commands, each
 * with a deadline of seconds and some of them twice. The device's record shows whether one was late, or came twice.
 */
import mqtt, { type MqttClient } from 'mqtt';
import type { Clock } from '../../../src/platform/clock/index.ts';
import type { CommandRequest } from '../../support/device-link.ts';
import type { Random } from '../../support/random.ts';
import type { SeriesChecksums, Series } from './series-checksums.ts';

/** Between the look at the clock in the gateway and the message at the device, on a machine with much to do. */
const TRANSIT_MS = 2_000;
const PAUSE_MS = { least: 300, most: 2_000 };
const DEADLINE_MS = { least: 500, most: 20_000 };
const AGAIN_MS_MAX = 5_000;
const AGAIN_SHARE = 0.4;
const RECONNECT_MS = 200;

interface Asked {
  expiresAtMs: number;
  /** When the device got it. */
  arrivalsMs: number[];
  hasAnswer: boolean;
}

export interface RequestSums {
  asked: number;
  askedTwice: number;
  carriedOut: number;
  answered: number;
}

interface AboveOptions {
  port: number;
  site: string;
  clock: Clock;
  random: Random;
  checksums: SeriesChecksums;
  /** By slug of the device. */
  series: ReadonlyMap<string, ReadonlyMap<string, Series>>;
  command: { device: string; name: string; tagArgument: string };
}

export class UpstreamClient {
  readonly #options: AboveOptions;
  readonly #client: MqttClient;
  readonly #asked: Asked[] = [];
  readonly #stop = new AbortController();
  #asking: Promise<void> = Promise.resolve();
  #again: Promise<void>[] = [];
  #askedTwice = 0;
  messages = 0;

  constructor(options: AboveOptions) {
    this.#options = options;
    this.#client = mqtt.connect(`mqtt://127.0.0.1:${options.port}`, {
      clean: false,
      clientId: 'above',
      reconnectPeriod: RECONNECT_MS,
    });
    // A broker that is away is part of the check.
    this.#client.on('error', () => undefined);
    this.#client.on('message', (topic, payload) => this.#receive(topic, payload));
  }

  async subscribe(): Promise<void> {
    const { site } = this.#options;
    await this.#client.subscribeAsync([`${site}/+/telemetry`, `${site}/commands/responses`], { qos: 1 });
  }

  begin(): void {
    this.#asking = this.#ask();
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#asking;
    await Promise.all(this.#again);
  }

  close(): void {
    this.#client.end(true);
  }

  /** The device got this. */
  arrived({ arguments: given }: CommandRequest): number {
    const { clock, command } = this.#options;
    const tag = Number(given[command.tagArgument]);
    this.#asked[tag]?.arrivalsMs.push(clock.wallMs());
    return tag;
  }

  sums(): RequestSums {
    return {
      asked: this.#asked.length,
      askedTwice: this.#askedTwice,
      carriedOut: this.#asked.filter(({ arrivalsMs }) => arrivalsMs.length > 0).length,
      answered: this.#asked.filter(({ hasAnswer }) => hasAnswer).length,
    };
  }

  problems(): string[] {
    return this.#asked.flatMap(({ arrivalsMs, expiresAtMs }, tag) => [
      ...(arrivalsMs.length > 1 ? [`command ${tag} came ${arrivalsMs.length} times`] : []),
      ...arrivalsMs
        .filter((atMs) => atMs > expiresAtMs + TRANSIT_MS)
        .map((atMs) => `command ${tag} came ${Math.round(atMs - expiresAtMs)} ms after its deadline`),
    ]);
  }

  async #ask(): Promise<void> {
    const { clock, random } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const tag = this.#asked.length;
      const deadlineMs = random.between(DEADLINE_MS.least, DEADLINE_MS.most);
      this.#asked.push({ expiresAtMs: clock.wallMs() + deadlineMs, arrivalsMs: [], hasAnswer: false });
      this.#publish(tag);
      if (random.chance(AGAIN_SHARE)) this.#again.push(this.#askAgain(tag));
      // It ends: the loop does, too.
      await clock.sleep(random.between(PAUSE_MS.least, PAUSE_MS.most), signal).catch(() => undefined);
    }
  }

  async #askAgain(tag: number): Promise<void> {
    const { clock, random } = this.#options;
    this.#askedTwice++;
    await clock.sleep(random.between(0, AGAIN_MS_MAX));
    this.#publish(tag);
  }

  /** Waits in the client while the broker is away. */
  #publish(tag: number): void {
    const { site, command } = this.#options;
    const request = {
      id: `request-${tag}`,
      device_id: command.device,
      name: command.name,
      arguments: { [command.tagArgument]: tag },
      expires_at: new Date(this.#asked[tag]?.expiresAtMs ?? 0).toISOString(),
    };
    this.#client.publish(`${site}/commands/requests`, JSON.stringify(request), { qos: 1 });
  }

  #receive(topic: string, payload: Buffer): void {
    const body = JSON.parse(payload.toString('utf8')) as Record<string, unknown>;
    const [, device = ''] = topic.split('/');
    if (device === 'commands') {
      const asked = this.#asked[Number(String(body['id']).replace('request-', ''))];
      if (asked) asked.hasAnswer = true;
      return;
    }
    this.messages++;
    const { checksums, series } = this.#options;
    const ofDevice = series.get(device);
    const values = body['values'] as Record<string, unknown>;
    for (const [attribute, value] of Object.entries(values)) {
      const found = ofDevice?.get(attribute);
      if (found) checksums.note(found, Number(body['timestamp']), value);
    }
  }
}
