/** The connection over which a target sends commands: a session of its own, which the broker keeps. */
import { DoublingPause } from '../../../lib/doubling-pause.ts';
import { messageOf } from '../../../lib/errors.ts';
import {
  type MqttArrival,
  type MqttClient,
  MqttFailure,
  MqttRefusal,
} from '../../../platform/mqtt-client/index.ts';
import type { CommandSettings, CommandStatus, MqttSettings, TargetRecord } from '../model.ts';
import { mqttClientOf } from '../mqtt/target-client.ts';
import { filledTemplate, topicLevel } from '../mqtt/plain-messages.ts';
import type { TargetParts } from '../parts.ts';
import { CommandRequests } from './command-requests.ts';

const commandsOf = ({ settings, isEnabled }: TargetRecord): CommandSettings | undefined =>
  isEnabled && settings.kind === 'MQTT' ? (settings.commands ?? undefined) : undefined;

/** Undefined when the target sends no commands. */
export function openCommandChannel(record: TargetRecord, parts: TargetParts): CommandChannel | undefined {
  const { settings } = record;
  const commands = commandsOf(record);
  return commands && settings.kind === 'MQTT'
    ? new CommandChannel(record, settings, commands, parts)
    : undefined;
}

export class CommandChannel {
  readonly #record: TargetRecord;
  readonly #settings: CommandSettings;
  readonly #parts: TargetParts;
  readonly #client: MqttClient;
  readonly #requests: CommandRequests;
  readonly #stop = new AbortController();
  readonly #pause: DoublingPause;
  #ended: Promise<void> = Promise.resolve();
  /** Topic of requests that this connection has subscribed to. */
  #subscribed: string | undefined;
  #lastError: CommandStatus['lastError'];
  #isConnected = false;

  constructor(
    record: TargetRecord,
    mqttSettings: MqttSettings,
    settings: CommandSettings,
    parts: TargetParts,
  ) {
    this.#record = record;
    this.#settings = settings;
    this.#parts = parts;
    const { retryFirstMs, retryMaxMs } = parts.limits;
    this.#pause = new DoublingPause({ firstMs: retryFirstMs, maxMs: retryMaxMs });
    this.#client = mqttClientOf(record, mqttSettings, parts, {
      // Two connections with one client id would end each other.
      clientId: `${mqttSettings.clientId || record.id.slice(0, ID_LENGTH)}-commands`,
      isSessionKept: true,
      onMessage: (message) => this.#take(message),
    });
    this.#requests = new CommandRequests({
      ...parts,
      record,
      settings,
      answer: (answer) => this.#answer(JSON.stringify(answer)),
    });
  }

  start(): void {
    this.#ended = this.#run();
  }

  /** @param next the changed target; undefined: it is deleted */
  async stop(next: TargetRecord | undefined): Promise<void> {
    this.#stop.abort();
    this.#requests.stop();
    // A broker that does not answer is not waited for.
    if (!this.#isConnected || this.#isKept(next)) this.#client.close();
    const { clock, limits } = this.#parts;
    const timer = clock.setTimer(limits.stopMs, () => this.#client.close());
    await this.#ended;
    if (this.#subscribed !== undefined && !this.#isKept(next))
      // Without a connection the broker goes on queueing; none of those requests is ever executed.
      await this.#client.unsubscribe(this.#subscribed).catch(() => undefined);
    timer.cancel();
    this.#client.close();
  }

  /** Whether the next channel takes over the requests that the broker queues meanwhile. */
  #isKept(next: TargetRecord | undefined): boolean {
    const commands = next && commandsOf(next);
    return commands?.topic === this.#settings.topic;
  }

  status(): CommandStatus {
    const { executed, refused } = this.#requests;
    return { isConnected: this.#isConnected, executed, refused, lastError: this.#lastError };
  }

  get #topic(): string {
    return filledTemplate(this.#settings.topic, { site: topicLevel(this.#parts.site().name) });
  }

  async #take(message: MqttArrival): Promise<void> {
    // A kept session may still have the topic of an earlier name of the site.
    if (message.topic === `${this.#topic}/requests`) await this.#requests.take(message);
  }

  /** A broker that refuses answers does not stop commands. */
  async #answer(payload: string): Promise<void> {
    try {
      await this.#client.publish({ topic: `${this.#topic}/responses`, payload, isRetained: false });
    } catch (error) {
      if (!(error instanceof MqttRefusal)) throw error;
      this.#lastError = { message: error.message, atMs: this.#parts.clock.wallMs() };
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { clock, limits } = this.#parts;
    while (!signal.aborted)
      try {
        await this.#step();
        this.#isConnected = true;
        this.#pause.reset();
        await clock.sleep(limits.intervalMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        // It is stopped: the loop ends.
        await clock.sleep(this.#noteFailure(error), signal).catch(() => undefined);
      }
  }

  async #step(): Promise<void> {
    const isNew = await this.#client.connect();
    const topic = `${this.#topic}/requests`;
    if (isNew || topic !== this.#subscribed) {
      if (!isNew && this.#subscribed !== undefined) await this.#client.unsubscribe(this.#subscribed);
      await this.#client.subscribe(topic);
      this.#subscribed = topic;
    }
    if (isNew) await this.#requests.answerWaiting();
    else await this.#requests.answerEnded();
  }

  /** Returns how long to wait before it is tried again. */
  #noteFailure(error: unknown): number {
    const { clock, log } = this.#parts;
    const message = error instanceof MqttFailure ? error.message : messageOf(error);
    if (this.#isConnected || !this.#lastError)
      log.warn('no commands come from a target', { target: this.#record.name, reason: message });
    this.#isConnected = false;
    this.#lastError = { message, atMs: clock.wallMs() };
    // A step that failed halfway begins anew.
    this.#client.close();
    return this.#pause.next();
  }
}

/** Characters of the target's id in the client id. */
const ID_LENGTH = 8;
