/** Carries out what scripts ask of brokers: their clients, what these subscribed to, and messages that wait for a script. */
import type { Limits } from '../lib/limits.ts';
import { TokenBucket } from '../lib/token-bucket.ts';
import type { Clock } from '../platform/clock/index.ts';
import { addressOf } from '../platform/mdns/index.ts';
import { clientOptions, type ConnectionConfiguration } from './connection-configuration.ts';
import { type BrokerOptions, MqttConnection, MqttMailbox, type MqttSubscriber } from './field/index.ts';
import { fault } from './io-calls.ts';
import { type BrokerChoice, type CallResult, GATEWAY_BROKER, type MqttOperation } from './thread-messages.ts';

interface MqttCallsOptions {
  clock: Clock;
  limits: Pick<Limits, 'lua' | 'module'>;
  /** How the module reaches the gateway. */
  gateway: ConnectionConfiguration;
}

interface Broker {
  connection: MqttConnection;
  clients: Set<Client>;
}

interface Client {
  key: string;
  isGateway: boolean;
  connection: MqttConnection;
  mailbox: MqttMailbox;
  /** Filters with a callback, and topics whose newest message is wanted. */
  filters: Set<string>;
  topics: Set<string>;
  /** Wants the newest message only, which the connection keeps. */
  reader: MqttSubscriber;
  publishes: TokenBucket;
}

type Of<Do extends MqttOperation['do']> = MqttOperation & { do: Do };

const FILTER = /^(?:(?:[^+#/\0]*|\+)\/)*(?:[^+#/\0]*|\+|#)$/;
const NAME = /^[^+#\0]+$/;
/** Topics of the gateway's own devices, and filters that contain them or what they do not say. */
const NOT_OF_GUESTS = /^(?:v1(?:\/|$)|[+#$]|\/|$)/;

export class MqttCalls {
  readonly #options: MqttCallsOptions;
  readonly #brokers = new Map<string, Broker>();
  /** By run and number. */
  readonly #clients = new Map<number, Map<number, Client>>();
  #lastNumber = 0;

  constructor(options: MqttCallsOptions) {
    this.#options = options;
  }

  async carryOut(run: number, operation: MqttOperation): Promise<CallResult> {
    if (operation.do === 'open') return this.#openClient(run, operation.choice);
    const client = this.#clients.get(run)?.get(operation.client);
    if (client === undefined) return fault('the client is closed', 3);
    switch (operation.do) {
      case 'subscribe':
        return this.#subscribe(client, operation);
      case 'unsubscribe':
        client.filters.delete(operation.filter);
        client.connection.unsubscribe(operation.filter, client.mailbox);
        return { kind: 'done' };
      case 'publish':
        return this.#publish(client, operation);
      case 'latest':
        return this.#latest(client, operation);
      case 'take':
        return client.mailbox.next().then((found) => found ?? fault('the client is closed', 3));
      case 'is_connected':
        return { kind: 'results', results: [client.connection.isConnected] };
      case 'close':
        this.#clients.get(run)?.delete(operation.client);
        this.#leave(client);
        return { kind: 'done' };
    }
  }

  /** The script is over. */
  release(run: number): void {
    for (const client of this.#clients.get(run)?.values() ?? []) this.#leave(client);
    this.#clients.delete(run);
  }

  async close(): Promise<void> {
    const brokers = [...this.#brokers.values()];
    this.#brokers.clear();
    await Promise.all(brokers.map(({ connection }) => connection.close()));
  }

  #openClient(run: number, choice: BrokerChoice): CallResult {
    const { clock, limits } = this.#options;
    const { clients: clientsMax, brokers: brokersMax, messagesPerSecond, messageBurst } = limits.lua.mqtt;
    const clients = this.#clients.getOrInsertComputed(run, () => new Map());
    if (clients.size >= clientsMax) return fault(`a script has ${clientsMax} MQTT clients at most`, 3);
    const key = JSON.stringify(choice);
    if (!this.#brokers.has(key) && this.#brokers.size >= brokersMax)
      return fault(`a module is connected to ${brokersMax} brokers at most`, 7);
    const broker = this.#brokers.getOrInsertComputed(key, () => ({
      connection: new MqttConnection({
        clock,
        limits: limits.lua.mqtt,
        resolve: () => this.#addressOf(choice),
      }),
      clients: new Set(),
    }));
    const client: Client = {
      key,
      isGateway: choice.uri === GATEWAY_BROKER,
      connection: broker.connection,
      mailbox: new MqttMailbox(limits.lua.mqtt),
      filters: new Set(),
      topics: new Set(),
      reader: { take: () => undefined },
      publishes: new TokenBucket(messagesPerSecond, messageBurst, clock.monotonicMs()),
    };
    broker.clients.add(client);
    clients.set(++this.#lastNumber, client);
    return { kind: 'results', results: [this.#lastNumber] };
  }

  async #addressOf(choice: BrokerChoice): Promise<BrokerOptions> {
    const { gateway, clock, limits } = this.#options;
    const look = { clock, limits: limits.module };
    if (choice.uri === GATEWAY_BROKER)
      return gatewayOptions(gateway, await addressOf(gateway.mqttHost, look));
    const { uri, user, password, caPem, isInsecure, clientId, will } = choice;
    const url = new URL(uri);
    // A certificate is for the name.
    if (url.protocol === 'mqtt:') url.hostname = await addressOf(url.hostname, look);
    return {
      url,
      clientId: clientId ?? '',
      username: user,
      password,
      caPem,
      will: will && ((): typeof will => will),
      ...(isInsecure && { trusts: 'anybody' }),
    };
  }

  async #subscribe(client: Client, { filter }: Of<'subscribe'>): Promise<CallResult> {
    const problem = this.#topicProblem(client, filter, FILTER, 'filter') ?? this.#roomProblem(client, filter);
    if (problem !== undefined) return fault(problem, 3);
    client.filters.add(filter);
    return outcome(await client.connection.subscribe(filter, client.mailbox));
  }

  async #publish(client: Client, operation: Of<'publish'>): Promise<CallResult> {
    const { topic, payload, qos, isRetained } = operation;
    const { publishBytes } = this.#options.limits.lua.mqtt;
    const problem = this.#topicProblem(client, topic, NAME, 'topic');
    if (problem !== undefined) return fault(problem, 3);
    if (payload.length > publishBytes) return fault(`a message has at most ${publishBytes} bytes`, 3);
    if (!client.publishes.take(this.#options.clock.monotonicMs())) return fault('too many messages', 7);
    return outcome(
      await client.connection.publish({ topic, payload: Buffer.from(payload), qos, isRetained }),
    );
  }

  async #latest(client: Client, { topic }: Of<'latest'>): Promise<CallResult> {
    if (!client.topics.has(topic)) {
      const problem = this.#topicProblem(client, topic, NAME, 'topic') ?? this.#roomProblem(client, topic);
      if (problem !== undefined) return fault(problem, 3);
      client.topics.add(topic);
      const refusal = await client.connection.subscribe(topic, client.reader);
      if (refusal !== undefined) return fault(refusal, 2);
    }
    const latest = client.connection.latest(topic);
    if (typeof latest === 'string') return fault(latest, 2);
    return { kind: 'latest', payload: latest.payload, ageMs: latest.ageMs };
  }

  #topicProblem({ isGateway }: Client, topic: string, form: RegExp, what: string): string | undefined {
    const { topicBytes } = this.#options.limits.lua.mqtt;
    if (topic === '' || !form.test(topic)) return `${JSON.stringify(topic.slice(0, 100))} is no ${what}`;
    if (Buffer.byteLength(topic) > topicBytes) return `a ${what} has at most ${topicBytes} bytes`;
    if (!isGateway || !NOT_OF_GUESTS.test(topic)) return undefined;
    return `at the gateway the ${what} must begin with a name other than v1: scripts use the topics of MQTT accounts only`;
  }

  #roomProblem({ filters, topics }: Client, filter: string): string | undefined {
    const { filters: filtersMax } = this.#options.limits.lua.mqtt;
    if (filters.has(filter) || filters.size + topics.size < filtersMax) return undefined;
    return `an MQTT client has ${filtersMax} filters at most`;
  }

  #leave(client: Client): void {
    client.mailbox.close();
    for (const filter of client.filters) client.connection.unsubscribe(filter, client.mailbox);
    for (const topic of client.topics) client.connection.unsubscribe(topic, client.reader);
    const broker = this.#brokers.get(client.key);
    broker?.clients.delete(client);
    if (broker === undefined || broker.clients.size > 0) return;
    this.#brokers.delete(client.key);
    void broker.connection.close();
  }
}

function outcome(problem: string | undefined): CallResult {
  return problem === undefined ? { kind: 'done' } : fault(problem, 2);
}

/** The gateway's broker supports MQTT 3.1.1, and its box may have any name or address. */
function gatewayOptions(connection: ConnectionConfiguration, host: string): BrokerOptions {
  const { protocol, port, username, password, key, cert, ca } = clientOptions(connection, host);
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return {
    url: new URL(`${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}`),
    clientId: '',
    username: text(username),
    password: text(password),
    privateKeyPem: text(key),
    certificatePem: text(cert),
    caPem: text(ca),
    version: 4,
    trusts: 'any-name',
  };
}
