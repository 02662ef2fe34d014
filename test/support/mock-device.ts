/** A device as the gateway sees one: a real MQTT client with the credentials that provisioning gave. */
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import {
  type ConnectionConfiguration,
  connectionConfigurationOf,
} from '../../scripts/support/connection-configuration.ts';
import { connected } from './mqtt.ts';

export interface CommandRequest {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

export type Subject =
  | 'v1/telemetry'
  | 'v1/register'
  | 'v1/properties'
  | 'v3/logs'
  | 'v1/logs'
  | 'v1/command/responses';

export interface Session {
  readonly client: MqttClient;
  /** True once the connection has ended, by whomever. */
  readonly isClosed: boolean;
  closed: Promise<void>;
}

interface Surroundings {
  /** Lets a test clock move while a promise is open. */
  settled: <Result>(promise: Promise<Result>) => Promise<Result>;
  /** Where the broker listens now. */
  port: () => number;
  /** Keep-alive time, after which silence ends a session. Default: that of the library. */
  keepAliveS?: number;
}

export class MockDevice {
  readonly id: string;
  readonly slug: string;
  /** The whole answer of provisioning. */
  readonly provisioned: Record<string, unknown>;
  config: ConnectionConfiguration;
  /** Requests received and not taken yet. */
  readonly requests: CommandRequest[] = [];
  /** Called with each request, to answer at once. */
  onRequest: ((request: CommandRequest) => void) | undefined;
  /** Called with everything that comes on another topic. */
  onMessage: ((topic: string, text: string) => void) | undefined;
  readonly #surroundings: Surroundings;
  readonly #sessions: Session[] = [];

  constructor(provisioned: Record<string, unknown>, surroundings: Surroundings) {
    this.provisioned = provisioned;
    this.id = String(provisioned['device_id']);
    this.slug = String(provisioned['slug']);
    this.config = connectionConfigurationOf(provisioned['config']);
    this.#surroundings = surroundings;
  }

  /** Connects from now on as another connection configuration says. */
  take(config: unknown): void {
    this.config = connectionConfigurationOf(config);
  }

  /** A topic below the device's own address. */
  from(subject: string, channelId = this.config.channelId): string {
    return `v1/from/${this.config.hardwareId}/${channelId}/${subject}`;
  }

  get requestTopic(): string {
    return `v1/to/${this.config.hardwareId}/${this.config.channelId}/v1/command/requests`;
  }

  /** One more session with the device's credentials; it never reconnects. Rejects when turned away. */
  async open(options: IClientOptions = {}): Promise<Session> {
    const { credentials } = this.config;
    const { keepAliveS } = this.#surroundings;
    const client = mqtt.connect({
      protocol: 'mqtt',
      host: '127.0.0.1',
      port: this.#surroundings.port(),
      clientId: '',
      protocolVersion: 4,
      reconnectPeriod: 0,
      ...(keepAliveS !== undefined && { keepalive: keepAliveS }),
      ...(credentials.protocol === 'MQTT' && {
        username: credentials.username,
        password: credentials.password,
      }),
      ...options,
    });
    client.on('error', () => undefined);
    // Before it is connected: to a kept session deliveries come right behind CONNACK.
    client.on('message', (topic, payload) => {
      if (topic !== this.requestTopic) return this.onMessage?.(topic, payload.toString('utf8'));
      const request = JSON.parse(payload.toString('utf8')) as CommandRequest;
      this.requests.push(request);
      this.onRequest?.(request);
    });
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    let isClosed = false;
    client.on('close', () => {
      isClosed = true;
      resolve();
    });
    const session: Session = {
      client,
      closed,
      get isClosed() {
        return isClosed;
      },
    };
    this.#sessions.push(session);
    await this.#surroundings.settled(connected(client));
    return session;
  }

  /** Connects and listens for commands. */
  async connect(options: IClientOptions = {}): Promise<Session> {
    const session = await this.open(options);
    await this.subscribe(this.requestTopic);
    return session;
  }

  /** The granted QoS; 128 when refused. */
  async subscribe(topicFilter: string): Promise<number> {
    const { client } = this.#current();
    const granted = await this.#surroundings.settled(
      new Promise<number>((resolve, reject) => {
        // The library turns a refusal into an error; the packet has the grants.
        client.subscribe(topicFilter, { qos: 1 }, (error, _grants, packet) => {
          const qos = packet?.granted?.[0];
          if (typeof qos === 'number') resolve(qos);
          else reject(error ?? new Error('no answer to SUBSCRIBE'));
        });
      }),
    );
    return granted;
  }

  /** Sends one message below the own address; resolves when the broker has acknowledged it. */
  send(subject: Subject, body: Record<string, unknown>, channelId?: string): Promise<void> {
    return this.publish(this.from(subject, channelId), JSON.stringify(body));
  }

  /** Sends any bytes on any topic at QoS 1. Rejects when the connection ends before the acknowledgement. */
  publish(topic: string, payload: string | Buffer, qos: 0 | 1 | 2 = 1): Promise<void> {
    const { client, closed } = this.#current();
    const acknowledged = new Promise<void>((resolve, reject) => {
      client.publish(topic, payload, { qos }, (error) => (error ? reject(error) : resolve()));
    });
    const lost = closed.then(() => Promise.reject(new Error('closed before the acknowledgement')));
    return this.#surroundings.settled(Promise.race([acknowledged, lost]));
  }

  telemetry(values: Record<string, unknown>): Promise<void> {
    return this.send('v1/telemetry', values);
  }

  properties(values: Record<string, unknown>): Promise<void> {
    return this.send('v1/register', values);
  }

  log(message: string, fields: Record<string, unknown> = {}): Promise<void> {
    return this.send('v3/logs', { message, ...fields });
  }

  answer(request: { id: string }, state: string, payload?: unknown): Promise<void> {
    return this.send('v1/command/responses', { id: request.id, state, payload });
  }

  /** Answers every request from now on with `completed` and this result. */
  obey(result: unknown = { ok: true }): void {
    this.onRequest = (request) => {
      // The connection may end first; the execution then times out, which the test sees.
      this.answer(request, 'completed', { result }).catch(() => undefined);
    };
  }

  /** Ends all sessions. */
  async leave(): Promise<void> {
    for (const session of this.#sessions.splice(0)) {
      if (session.isClosed) continue;
      session.client.end(true);
      await this.#surroundings.settled(session.closed);
    }
  }

  #current(): Session {
    const session = this.#sessions.findLast(({ isClosed }) => !isClosed);
    if (!session) throw new Error('the device is not connected');
    return session;
  }
}
