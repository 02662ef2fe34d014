/**
 * The gateway as an edge node of Sparkplug B, each device of the site a device of it.
 * Source: Eclipse Sparkplug 3.0.0, chapters 5 and 6.
 *
 * Values go at QoS 0, as the specification asks; an acknowledged packet after them shows that the broker has them.
 *
 *   connect (will: NDEATH) ─▶ host online? ─▶ NBIRTH ─▶ DBIRTH of each device ─▶ DDATA … ─▶ DDEATH of who is offline
 */
import type { DurationMs, EpochMs } from '../../../lib/time.ts';
import { SerialQueue } from '../../../lib/serial-queue.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import {
  type MqttArrival,
  type MqttClient,
  type MqttMessage,
  MqttRefusal,
} from '../../../platform/mqtt-client/index.ts';
import {
  asksRebirth,
  DATATYPES,
  encodeSparkplug,
  REBIRTH,
  type SparkplugMetric,
} from '../../../protocol/sparkplug.ts';
import type { Device } from '../../devices/index.ts';
import {
  type LabelledSamples,
  nothingSent,
  type Pace,
  type Sent,
  type Sink,
  TargetFailure,
} from '../model.ts';
import { birthMetrics, dataMetrics, noteLatest, type PublishedDevice } from './sparkplug-metrics.ts';
import { asFailure, type MqttSinkParts, sizeOf } from './target-client.ts';
import { topicLevel } from './plain-messages.ts';

interface SparkplugSinkOptions extends MqttSinkParts {
  open: (more: { will: () => MqttMessage; onMessage: (message: MqttArrival) => Promise<void> }) => MqttClient;
  clock: Pick<Clock, 'wallMs'>;
  /** Metrics in one message. */
  metricsMax: number;
  /** Older values are historical. */
  historicalAfterMs: DurationMs;
  /** Values further in the future come from a clock that was wrong. */
  futureToleranceMs: DurationMs;
}

const NAMESPACE = 'spBv1.0';
/** Sequences are of one byte. */
const WRAP = 256;

type DeviceMessage = 'DBIRTH' | 'DDATA' | 'DDEATH';

export class SparkplugSink implements Sink {
  readonly #options: SparkplugSinkOptions;
  readonly #client: MqttClient;
  readonly #unsubscribe: (() => void)[];
  /** One publication at a time, because the sequence number shows gaps to the host. */
  readonly #queue = new SerialQueue();
  /** Number of the connection (bdSeq): a host matches deaths with births by it. */
  #session: number;
  #sequence = 0;
  /** Name of the edge node in this connection. */
  #node: string | undefined;
  #isBorn = false;
  #isHostOnline = false;
  /** Timestamp of the host's last online message, by the host's clock. */
  #hostOnlineMs: EpochMs = 0;
  #isRebirthDue = false;
  readonly #published = new Map<string, PublishedDevice>();

  constructor(options: SparkplugSinkOptions) {
    this.#options = options;
    // It differs from that of an earlier run, whose death the broker may publish late.
    this.#session = Math.floor(options.clock.wallMs() / 1_000) % WRAP;
    this.#client = options.open({
      will: () => this.#nextNodeDeath(),
      onMessage: async (message) => this.#take(message),
    });
    const { events } = options.devices;
    const owner = 'targets';
    const settle = (): void => this.#settleSoon();
    const changed = ({ device }: { device: Device }): void => {
      const published = this.#published.get(device.id);
      if (published) published.isChanged = true;
      this.#settleSoon();
    };
    this.#unsubscribe = [
      events.on('connectivity_changed', owner, settle),
      events.on('device_deleted', owner, settle),
      events.on('device_updated', owner, changed),
      events.on('blueprint_assigned', owner, changed),
    ];
  }

  get reconnects(): number {
    return this.#client.reconnects;
  }

  send(samples: readonly LabelledSamples[], pace: Pace): Promise<Sent> {
    return this.#queue.run(async () => {
      await this.#connected();
      const sent = nothingSent();
      const counted = async (bytes: number): Promise<void> => {
        await pace(bytes);
        sent.bytes += bytes;
      };
      for (const series of Map.groupBy(samples, ({ deviceId }) => deviceId).values())
        await this.#sendDevice(series, sent, counted);
      await this.#settle();
      await this.#confirmed();
      return sent;
    });
  }

  /** Births, deaths and reconnects do not wait for values. */
  maintain(): Promise<void> {
    return this.#queue.run(async () => {
      await this.#connected();
      await this.#settle();
    });
  }

  /** Sparkplug B has no form for records. */
  async sendRecords(): Promise<Sent> {
    return nothingSent();
  }

  test(): Promise<void> {
    return this.#queue.run(async () => {
      await asFailure(this.#client.connect());
      await this.#client.leave();
    });
  }

  close(): void {
    for (const end of this.#unsubscribe) end();
    this.#client.close();
  }

  async #connected(): Promise<void> {
    if (this.#node !== undefined && this.#node !== this.#nodeNow()) this.#client.close();
    if (await asFailure(this.#client.connect())) {
      this.#isBorn = false;
      for (const published of this.#published.values()) published.born = undefined;
      this.#isHostOnline = false;
      await this.#listen();
    }
    const { hostId } = this.#options.settings;
    if (hostId && !this.#isHostOnline)
      throw new TargetFailure(`The host application ${hostId} is not online.`);
    if (!this.#isBorn) await this.#publishNodeBirth();
  }

  async #listen(): Promise<void> {
    const { hostId } = this.#options.settings;
    try {
      await this.#confirmed();
      if (hostId) await asFailure(this.#client.subscribe(stateTopic(hostId)));
    } catch (error) {
      // The next connection subscribes again.
      this.#client.close();
      throw error;
    }
  }

  /** Resolves once the broker has received everything sent before. */
  async #confirmed(): Promise<void> {
    await asFailure(this.#client.subscribe(this.#topic('NCMD')));
  }

  async #take({ topic, payload, isRetained }: MqttArrival): Promise<void> {
    const { hostId } = this.#options.settings;
    if (hostId && topic === stateTopic(hostId)) {
      const { isOnline, atMs } = stateOf(payload);
      // The broker may publish the will of the host's earlier connection late.
      if (!isOnline && atMs < this.#hostOnlineMs) return;
      this.#isHostOnline = isOnline;
      if (isOnline && Number.isFinite(atMs)) this.#hostOnlineMs = atMs;
      // The host takes the node for dead, and expects a birth once it is back.
      if (!this.#isHostOnline && this.#isBorn) this.#client.close();
      return;
    }
    if (isRetained || topic !== this.#topic('NCMD') || this.#isRebirthDue || !asksRebirth(payload)) return;
    this.#isRebirthDue = true;
    this.#settleSoon();
  }

  async #publishNodeBirth(): Promise<void> {
    this.#isRebirthDue = false;
    this.#sequence = 0;
    const timestampMs = this.#options.clock.wallMs();
    await this.#publish('NBIRTH', undefined, [
      bdSeq(this.#session, timestampMs),
      { name: REBIRTH, timestampMs, datatype: DATATYPES.BOOLEAN, value: false },
    ]);
    this.#isBorn = true;
    for (const published of this.#published.values()) published.born = undefined;
    for (const device of this.#present()) await this.#publishBirth(device);
  }

  /** Devices of the target that are online when it is their turn. */
  *#present(): Generator<Device> {
    const { devices, includes } = this.#options;
    for (const device of devices.all())
      if (includes(device) && devices.connectivity(device.id) === 'ONLINE') yield device;
  }

  async #publishBirth(device: Device): Promise<void> {
    const { devices, includes, clock, telemetry: values } = this.#options;
    const published = this.#publishedOf(device);
    const { telemetry } = devices.manifest(device);
    const declared = Object.entries(telemetry).filter(([attribute]) => includes(device, attribute));
    const { toMs } = this.#current();
    for (const attribute of declared)
      noteLatest(published, attribute, values.latest(device, attribute[0]), toMs);
    const metrics = birthMetrics(published, declared, clock.wallMs());
    const refusal = await this.#unlessRefused(this.#publish('DBIRTH', published.slug, metrics));
    // A long text must not keep all other metrics from being published.
    if (refusal !== undefined) await this.#publish('DBIRTH', published.slug, metrics.map(withoutText));
    published.born = new Map(metrics.map(({ name, datatype }) => [name, datatype]));
    published.isChanged = false;
  }

  #current(): { fromMs: EpochMs; toMs: EpochMs } {
    const { clock, historicalAfterMs, futureToleranceMs } = this.#options;
    const nowMs = clock.wallMs();
    return { fromMs: nowMs - historicalAfterMs, toMs: nowMs + futureToleranceMs };
  }

  #publishedOf({ id, slug }: Pick<Device, 'id' | 'slug'>): PublishedDevice {
    const known = this.#published.get(id);
    if (known?.slug === slug) return known;
    const published: PublishedDevice = {
      slug,
      born: undefined,
      isChanged: false,
      metrics: known?.metrics ?? new Map(),
    };
    this.#published.set(id, published);
    return published;
  }

  async #sendDevice(series: readonly LabelledSamples[], sent: Sent, counted: Pace): Promise<void> {
    const { devices, metricsMax } = this.#options;
    const device = devices.get(series[0]?.deviceId ?? '');
    if (!device) return;
    const before = this.#published.get(device.id);
    if (before?.born && before.slug !== device.slug) await this.#publishDeath(before);
    const published = this.#publishedOf(device);
    const { metrics, hasNew } = dataMetrics(published, series, this.#current());
    if (hasNew || published.isChanged) await this.#publishBirth(device);
    for (let from = 0; from < metrics.length; from += metricsMax)
      await this.#sendMetrics(published.slug, metrics.slice(from, from + metricsMax), sent, counted);
  }

  /** Sends halves of a message that the broker never accepts, such as one too long, until single metrics are left. */
  async #sendMetrics(
    slug: string,
    metrics: readonly SparkplugMetric[],
    sent: Sent,
    counted: Pace,
  ): Promise<void> {
    const refusal = await this.#unlessRefused(this.#publish('DDATA', slug, metrics, counted));
    if (refusal === undefined) {
      sent.samples += metrics.length;
      return;
    }
    if (metrics.length === 1) {
      sent.refusedSamples++;
      sent.refusal = refusal;
      return;
    }
    const middle = Math.ceil(metrics.length / 2);
    await this.#sendMetrics(slug, metrics.slice(0, middle), sent, counted);
    await this.#sendMetrics(slug, metrics.slice(middle), sent, counted);
  }

  /** Why the broker never accepts this message, while it accepts others; undefined: it was sent. */
  async #unlessRefused(published: Promise<void>): Promise<string | undefined> {
    try {
      await published;
      return undefined;
    } catch (error) {
      const { cause } = error as TargetFailure;
      if (cause instanceof MqttRefusal && cause.isOfMessage) return cause.message;
      throw error;
    }
  }

  async #publishDeath(published: PublishedDevice): Promise<void> {
    await this.#publish('DDEATH', published.slug, []);
    published.born = undefined;
  }

  /** Publishes births and deaths of devices that came online, changed or went offline. */
  async #settle(): Promise<void> {
    const { devices } = this.#options;
    if (this.#isRebirthDue) await this.#publishNodeBirth();
    for (const [id, published] of this.#published) {
      const device = devices.get(id);
      const isThere = device !== undefined && devices.connectivity(id) === 'ONLINE';
      if (published.born && (!isThere || device.slug !== published.slug)) await this.#publishDeath(published);
      if (!device) this.#published.delete(id);
    }
    for (const device of this.#present()) {
      const published = this.#publishedOf(device);
      if (!published.born || published.isChanged) await this.#publishBirth(device);
    }
  }

  #settleSoon(): void {
    const settling = this.#queue.run(async () => {
      if (this.#isBorn) await this.#settle();
    });
    // Without a connection the next one publishes it.
    settling.catch(() => undefined);
  }

  async #publish(
    kind: 'NBIRTH' | DeviceMessage,
    device: string | undefined,
    metrics: readonly SparkplugMetric[],
    counted?: Pace,
  ): Promise<void> {
    const topic = this.#topic(kind, device);
    const seq = this.#sequence;
    const payload = encodeSparkplug({ timestampMs: this.#options.clock.wallMs(), metrics, seq });
    await counted?.(sizeOf({ topic, payload }));
    await asFailure(this.#client.publish({ topic, payload, isRetained: false, qos: 0 }));
    this.#sequence = (seq + 1) % WRAP;
  }

  #nextNodeDeath(): MqttMessage {
    this.#node = this.#nodeNow();
    this.#session = (this.#session + 1) % WRAP;
    const timestampMs = this.#options.clock.wallMs();
    const payload = encodeSparkplug({ timestampMs, metrics: [bdSeq(this.#session, timestampMs)] });
    return { topic: this.#topic('NDEATH'), payload, isRetained: false };
  }

  #nodeNow(): string {
    return topicLevel(this.#options.site().name);
  }

  #topic(kind: 'NBIRTH' | 'NDEATH' | 'NCMD' | DeviceMessage, device?: string): string {
    const node = `${NAMESPACE}/${topicLevel(this.#options.settings.topic)}/${kind}/${this.#node}`;
    return device === undefined ? node : `${node}/${topicLevel(device)}`;
  }
}

const stateTopic = (hostId: string): string => `${NAMESPACE}/STATE/${hostId}`;

const withoutText = (metric: SparkplugMetric): SparkplugMetric =>
  typeof metric.value === 'string' ? { ...metric, value: null } : metric;

const bdSeq = (session: number, timestampMs: EpochMs): SparkplugMetric => ({
  name: 'bdSeq',
  timestampMs,
  datatype: DATATYPES.INT64,
  value: session,
});

/** An unreadable state counts as offline. */
function stateOf(payload: Buffer): { isOnline: boolean; atMs: EpochMs } {
  try {
    const state = JSON.parse(payload.toString('utf8')) as { online?: unknown; timestamp?: unknown } | null;
    const atMs = typeof state?.timestamp === 'number' ? state.timestamp : Infinity;
    return { isOnline: state?.online === true, atMs };
  } catch {
    return { isOnline: false, atMs: Infinity };
  }
}
