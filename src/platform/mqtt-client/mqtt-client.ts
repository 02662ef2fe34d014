import type { MqttClient as Library } from 'mqtt';
import { connectionFailure, messageOf } from '../../lib/errors.ts';
import { defined } from '../../lib/members.ts';
import type { DurationMs } from '../../lib/time.ts';
import { type Clock, nextTurn, type Timer } from '../clock/index.ts';
import { LIMITS } from '../../lib/limits.ts';
import { InboundGuard, type InboundLimits } from './inbound-guard.ts';
import type { LineOptions, openLine } from './line.ts';

/** Which broker, and what goes over the connection. */
export interface MqttClientOptions {
  clock: Pick<Clock, 'setTimer'>;
  /** mqtt: or mqtts:, with host and port. */
  url: URL;
  /** Empty: the broker gives one. */
  clientId: string;
  username?: string | undefined;
  password?: string | undefined;
  /** Authorities that are trusted instead of those of the system, as PEM. */
  caPem?: string | undefined;
  certificatePem?: string | undefined;
  privateKeyPem?: string | undefined;
  /** Published by the broker when the connection ends without DISCONNECT; asked for with each connection. */
  will?: (() => MqttMessage | undefined) | undefined;
  /** Takes what comes of topics that were subscribed to, one by one; the broker gets its acknowledgement once it resolves. */
  onMessage?: ((message: MqttArrival) => Promise<void>) | undefined;
  /** The broker keeps the subscriptions, and what comes meanwhile, while there is no connection; needs a client id. */
  isSessionKept?: boolean;
  /** Called when a connection ended, on either side; the sentence says why. */
  onLost?: ((reason: string) => void) | undefined;
  /** Default: 5, and 3.1.1 where the broker knows no more. */
  version?: typeof MQTT_3;
  /** Trust in TLS; default: the certificate must be of a trusted authority, and for the host. */
  trusts?: 'anybody' | 'any-name';
  /** Remedy for a certificate of an unknown authority, as the end of a sentence. */
  certificateAdvice?: string;
  /** To connect, and for each acknowledgement. */
  timeoutMs: DurationMs;
  /** Default: as in `LIMITS`. */
  limits?: InboundLimits & { messagesAtOnce: number };
}

/** A message to be published. */
export interface MqttMessage {
  topic: string;
  payload: string | Buffer;
  isRetained: boolean;
  /** Default: 1. At 0 only the acknowledgement of a later packet shows that the broker got it. */
  qos?: 0 | 1;
}

/** A message of a topic that was subscribed to. */
export interface MqttArrival {
  topic: string;
  payload: Buffer;
  /** True for a message that the broker had retained. */
  isRetained: boolean;
}

/** The broker is not there or did not acknowledge; the message is a sentence for a person. */
export class MqttFailure extends Error {
  override name = 'MqttFailure';
}

/** The broker got the message and refused it. */
export class MqttRefusal extends MqttFailure {
  override name = 'MqttRefusal';
  /** The broker never takes this message; it may take others. */
  readonly isOfMessage: boolean;

  constructor(message: string, isOfMessage: boolean) {
    super(message);
    this.isOfMessage = isOfMessage;
  }
}

/** The broker may know older versions of MQTT only. */
class VersionFailure extends MqttFailure {
  /** The broker said so. */
  readonly isSaid: boolean;

  constructor(message: string, isSaid: boolean) {
    super(message);
    this.isSaid = isSaid;
  }
}

/** Protocol level in CONNECT. */
const MQTT_5 = 5;
const MQTT_3 = 4;
type Version = typeof MQTT_5 | typeof MQTT_3;

const KEEP_ALIVE_S = 30;
/** Seconds, MQTT 5 section 3.1.2.11.2: it does not end. */
const FOR_EVER_S = 0xffff_ffff;
/** Answers of a broker that are no fault of the line, MQTT 3.1.1 section 3.2.2.3, MQTT 5 section 3.2.2.2. */
const REFUSALS: Readonly<Record<number, string>> = {
  2: 'does not accept the client id',
  3: 'is not ready',
  4: 'does not accept the user name or the password',
  5: 'does not let this client in',
  133: 'does not accept the client id',
  134: 'does not accept the user name or the password',
  135: 'does not let this client in',
  136: 'is not ready',
  137: 'is not ready',
  138: 'does not let this client in',
};
const VERSION_REFUSED: readonly unknown[] = [1, 132];
const NOT_AUTHORIZED = 135;
/** Its topic is not valid, or its payload is not what was said. */
const OF_MESSAGE: readonly number[] = [144, 153];

/** With the library, a tenth of the gateway's program that most boxes never use. */
export function loadLine() {
  return import('./line.ts');
}

/**
 * A client of a broker that a person named: opened when it is needed, messages at QoS 1, acknowledged or failed.
 * Nothing is queued for a broker that is not there; who sends tries again. MQTT 5, because a broker of 3.1.1 acknowledges
 * what it throws away; 3.1.1 where the broker knows no more.
 */
export class MqttClient {
  readonly #options: MqttClientOptions;
  #opening: Promise<Library> | undefined;
  #library: Library | undefined;
  #connections = 0;
  /** How often it was closed, so that an attempt which is still being prepared notices. */
  #closings = 0;
  #version: Version;
  /** Messages that are not acknowledged; a broker says how many it takes. */
  #onTheirWay = 0;
  #onTheirWayMax = Infinity;
  /** Largest packet; a broker of MQTT 5 announces it, and ends the connection over a larger one. */
  #packetMaxBytes = Infinity;
  /** Messages that wait for their turn. */
  readonly #waiting: (() => void)[] = [];
  /** Why the last connection was ended from here. */
  #fault: MqttFailure | undefined;

  constructor(options: MqttClientOptions) {
    this.#options = options;
    this.#version = options.version ?? MQTT_5;
  }

  /** How often another connection was opened after the first. */
  get reconnects(): number {
    return Math.max(0, this.#connections - 1);
  }

  get #limits(): InboundLimits & { messagesAtOnce: number } {
    return this.#options.limits ?? LIMITS.mqttClient;
  }

  /** Resolves once there is a connection; true when it is a new one. @throws MqttFailure */
  async connect(): Promise<boolean> {
    if (this.#library?.connected) return false;
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    this.#library = await this.#opening;
    return true;
  }

  /** Resolves once the broker has acknowledged the message; at QoS 0 once it was sent. @throws MqttFailure, MqttRefusal */
  async publish(message: MqttMessage): Promise<void> {
    this.#requireFitting(message);
    if (message.qos === 0) return this.#publish(message);
    if (this.#onTheirWay < this.#onTheirWayMax) this.#onTheirWay++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      await this.#publish(message);
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#onTheirWay--;
    }
  }

  #requireFitting(message: MqttMessage): void {
    const sizeBytes = packetBytes(message);
    if (sizeBytes <= this.#packetMaxBytes) return;
    const { host } = this.#options.url;
    const sentence = `${host} takes ${this.#packetMaxBytes} bytes at once, a message on ${message.topic} has ${sizeBytes}.`;
    throw new MqttRefusal(sentence, true);
  }

  async #publish({ topic, payload, isRetained, qos = 1 }: MqttMessage): Promise<void> {
    const { host } = this.#options.url;
    await this.#acknowledged((library, { resolve, reject, fail }) =>
      library.publish(topic, payload, { qos, retain: isRetained }, (error) => {
        const refusal = error && refusalOf(error, host, topic);
        if (refusal) reject(refusal);
        else if (error) fail();
        else resolve();
      }),
    );
  }

  /** Resolves once what comes of the topic from now on goes to `onMessage`, at QoS 1. @throws MqttFailure */
  async subscribe(topic: string): Promise<void> {
    const { host } = this.#options.url;
    await this.#acknowledged((library, { resolve, reject }) =>
      library.subscribe(topic, { qos: 1 }, (error) =>
        error
          ? reject(this.#fault ?? new MqttFailure(`${host} does not let this client read ${topic}.`))
          : resolve(),
      ),
    );
  }

  /** Resolves once nothing more comes of the topic. @throws MqttFailure */
  async unsubscribe(topic: string): Promise<void> {
    await this.#acknowledged((library, { resolve, fail }) =>
      library.unsubscribe(topic, (error) => (error ? fail() : resolve())),
    );
  }

  /** @throws MqttFailure */
  async #acknowledged(
    ask: (
      library: Library,
      outcome: { resolve: () => void; reject: (failure: MqttFailure) => void; fail: () => void },
    ) => unknown,
  ): Promise<void> {
    const library = this.#library;
    if (!library?.connected)
      throw this.#fault ?? new MqttFailure(`${this.#options.url.host} ended the connection.`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const fail = (): void =>
      reject(this.#fault ?? new MqttFailure(`${this.#options.url.host} did not acknowledge a message.`));
    const timer = this.#options.clock.setTimer(this.#options.timeoutMs, () => {
      fail();
      this.close();
    });
    library.once('close', fail);
    ask(library, { resolve, reject, fail });
    try {
      await promise;
    } finally {
      timer.cancel();
      library.removeListener('close', fail);
    }
  }

  /** Ends the connection without DISCONNECT, so that the broker publishes the will. */
  close(): void {
    this.#closings++;
    this.#library?.end(true);
    this.#library = undefined;
  }

  /** Ends the connection with DISCONNECT, so that the broker publishes no will. */
  async leave(): Promise<void> {
    this.#closings++;
    const library = this.#library;
    this.#library = undefined;
    if (!library) return;
    // A broker that keeps its side open must not keep ours.
    const timer = this.#options.clock.setTimer(this.#options.timeoutMs, () => library.stream.destroy());
    await library.endAsync().finally(() => timer.cancel());
  }

  async #open(): Promise<Library> {
    const closings = this.#closings;
    const line = await loadLine();
    if (closings !== this.#closings) throw new MqttFailure(`${this.#options.url.host} is needed no more.`);
    try {
      return await this.#openAs(this.#version, line.openLine);
    } catch (error) {
      // `close` ends an attempt, too.
      const isOver = this.#version === MQTT_3 || !this.#library;
      if (isOver || !(error instanceof VersionFailure)) throw error;
      if (error.isSaid) this.#version = MQTT_3;
      return await this.#openAs(MQTT_3, line.openLine);
    }
  }

  async #openAs(version: Version, open: typeof openLine): Promise<Library> {
    this.#library?.end(true);
    const { url, timeoutMs, clock } = this.#options;
    const guard = new InboundGuard(this.#limits, this.#options.isSessionKept ?? false);
    this.#fault = undefined;
    const library = connecting(
      this.#options,
      clientOptions(this.#options, version, this.#limits),
      (options) => open(options, (bytes, self) => this.#judge(guard.take(bytes), self)),
    );
    library.on('packetsend', (packet) => guard.sent(packet));
    // `close` ends an attempt, too.
    this.#library = library;
    // Brokers may acknowledge many messages at once.
    library.setMaxListeners(0);
    this.#listen(library);
    let timer: Timer | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        timer = clock.setTimer(timeoutMs, () => reject(new MqttFailure(`${url.host} did not answer.`)));
        library.once('connect', () => resolve());
        library.on('error', (error) => reject(failureOf(error, this.#options)));
        library.once('close', () => reject(new VersionFailure(`${url.host} ended the connection.`, false)));
      });
    } catch (error) {
      library.end(true);
      throw error;
    } finally {
      timer?.cancel();
    }
    library.on('error', (error) => this.#noteError(library, error));
    library.once('close', () =>
      this.#options.onLost?.(this.#fault?.message ?? `${url.host} ended the connection.`),
    );
    this.#connections++;
    const { receiveMaximum = Infinity, maximumPacketSize = Infinity } = library.serverProperties ?? {};
    this.#onTheirWayMax = receiveMaximum;
    this.#packetMaxBytes = maximumPacketSize;
    return library;
  }

  /** @param fault of what the broker sent; undefined: none */
  #judge(fault: string | undefined, library: Library): void {
    if (fault === undefined) return;
    this.#fault = new MqttFailure(`${this.#options.url.host} ${fault}.`);
    library.emit('error', this.#fault);
    library.stream.destroy();
    if (library === this.#library) this.close();
  }

  /** A broker whose MQTT 5 cannot be read is spoken to in 3.1.1; errors of the line have a code. */
  #noteError(library: Library, error: Error): void {
    if ('code' in error || error instanceof MqttFailure || library !== this.#library) return;
    this.#version = MQTT_3;
    this.close();
  }

  #listen(library: Library): void {
    const { onMessage } = this.#options;
    if (!onMessage) return;
    let handed = 0;
    const hand = async (message: MqttArrival, done: () => void): Promise<void> => {
      // The library goes on without a pause as long as it has packets.
      if (++handed % this.#limits.messagesAtOnce === 0) await nextTurn();
      try {
        await onMessage(message);
      } catch {
        // Messages that were not taken come again with the next connection.
        this.close();
        return;
      }
      done();
    };
    library.handleMessage = ({ topic, payload, retain }, done) =>
      void hand({ topic, payload: Buffer.from(payload), isRetained: retain }, done);
  }
}

/** Bytes of the packet that carries the message, MQTT 5 section 3.3. */
function packetBytes({ topic, payload, qos = 1 }: MqttMessage): number {
  const lengthBytes = 2;
  const idBytes = qos === 0 ? 0 : 2;
  const noPropertiesBytes = 1;
  const bodyBytes =
    lengthBytes + Buffer.byteLength(topic) + idBytes + noPropertiesBytes + Buffer.byteLength(payload);
  // Its own length is written in groups of seven bits.
  return 1 + Math.ceil(bodyBytes.toString(2).length / 7) + bodyBytes;
}

/** @throws MqttFailure for certificates that cannot be read */
function connecting(
  of: MqttClientOptions,
  options: LineOptions,
  open: (options: LineOptions) => Library,
): Library {
  try {
    return open(options);
  } catch (error) {
    throw new MqttFailure(sentenceOf(error, of), { cause: error });
  }
}

function failureOf(error: unknown, of: MqttClientOptions): MqttFailure {
  if (error instanceof MqttFailure) return error;
  const sentence = sentenceOf(error, of);
  const { code } = error as { code?: unknown };
  return VERSION_REFUSED.includes(code)
    ? new VersionFailure(sentence, true)
    : new MqttFailure(sentence, { cause: error });
}

/** Undefined when the broker did not refuse the message. */
function refusalOf(error: Error, host: string, topic: string): MqttRefusal | undefined {
  const { code } = error as { code?: unknown };
  if (typeof code !== 'number') return undefined;
  const sentence =
    code === NOT_AUTHORIZED
      ? `${host} does not let this client write to ${topic}.`
      : `${host} does not take a message on ${topic}: ${error.message}.`;
  return new MqttRefusal(sentence, OF_MESSAGE.includes(code));
}

function sentenceOf(
  error: unknown,
  { url, certificateAdvice = 'give its certificate' }: MqttClientOptions,
): string {
  const { code } = error as { code?: unknown };
  const refusal = typeof code === 'number' ? REFUSALS[code] : undefined;
  if (refusal !== undefined) return `${url.host} ${refusal}.`;
  const sentence = connectionFailure(error, url, `: ${certificateAdvice}`);
  return sentence ?? `${url.host} cannot be reached: ${messageOf(error)}.`;
}

function clientOptions(
  options: MqttClientOptions,
  version: Version,
  { packetMaxBytes }: InboundLimits,
): LineOptions {
  const { url, clientId, username, password, caPem, certificatePem, privateKeyPem, will, timeoutMs } =
    options;
  const { isSessionKept = false, trusts } = options;
  const testament = will?.();
  const isEncrypted = url.protocol === 'mqtts:';
  return {
    protocol: isEncrypted ? 'mqtts' : 'mqtt',
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port) || (isEncrypted ? 8_883 : 1_883),
    clientId,
    clean: !isSessionKept,
    keepalive: KEEP_ALIVE_S,
    protocolVersion: version,
    ...(version === MQTT_5 && {
      properties: {
        maximumPacketSize: packetMaxBytes,
        ...(isSessionKept && { sessionExpiryInterval: FOR_EVER_S }),
      },
    }),
    // The sender tries again, with pauses that grow.
    reconnectPeriod: 0,
    connectTimeout: timeoutMs,
    queueQoSZero: false,
    ...defined({ username, password, ca: caPem, cert: certificatePem, key: privateKeyPem }),
    ...(trusts === 'anybody' && { rejectUnauthorized: false }),
    ...(trusts === 'any-name' && { checkServerIdentity: () => undefined }),
    ...(testament && {
      will: {
        topic: testament.topic,
        payload: Buffer.from(testament.payload),
        qos: 1,
        retain: testament.isRetained,
      },
    }),
  };
}
