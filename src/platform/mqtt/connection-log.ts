/** What the service log says of one connection, each sentence once a minute for whoever it is about. */
import type { Log } from '../log/index.ts';
import type { Violation } from './packet-types.ts';
import type { MqttIdentity, MqttSession } from './types.ts';

const WARNING_INTERVAL_MS = 60_000;
/** G: a client may choose a longer name than a person wants to read. */
const CLIENT_ID_LENGTH = 64;

/** Ends that are nobody's wish and have no warning of their own. */
const REMARKABLE_ENDS: ReadonlySet<string> = new Set([
  'connect_timeout',
  'identity_sessions',
  'keepalive',
  'not_taken',
  'payload_too_large',
  'topic_too_long',
  'unacknowledged_deliveries',
  'unreleased_messages',
]);

export class ConnectionLog {
  readonly #log: Log;
  readonly #remoteAddress: string;
  #session: MqttSession | undefined;

  constructor(log: Log, remoteAddress: string) {
    this.#log = log;
    this.#remoteAddress = remoteAddress;
  }

  opened(session: MqttSession): void {
    this.#session = session;
  }

  violation({ statement, problem }: Violation): void {
    const sentence = 'connection closed: the client broke the protocol';
    this.#warn(`violation:${this.#remoteAddress}`, sentence, { statement, problem });
  }

  full(limit: string, { key }: MqttIdentity): void {
    this.#warn(`${limit}:${key}`, 'client turned away: too many sessions', { limit, identity: key });
  }

  foreignWill(topic: string, { key }: MqttIdentity): void {
    this.#warn(`will:${key}`, 'will outside its permission is ignored', { identity: key, topic });
  }

  slow(queuedBytes: number): void {
    const sentence = 'connection closed: the client does not read what it asked for';
    this.#warn(`slow:${this.#remoteAddress}`, sentence, { queued_bytes: queuedBytes });
  }

  ended(reason: string): void {
    if (!REMARKABLE_ENDS.has(reason)) return;
    const whose = this.#session?.identity.key ?? this.#remoteAddress;
    const client_id = this.#session?.clientId.slice(0, CLIENT_ID_LENGTH);
    this.#warn(`close:${reason}:${whose}`, 'connection closed by the broker', { reason, client_id });
  }

  failed(error: unknown): void {
    this.#log.error('connection failed inside the broker', { error });
  }

  #warn(key: string, sentence: string, fields: Record<string, unknown>): void {
    const whose = { identity: this.#session?.identity.key, remote_address: this.#remoteAddress };
    this.#log.warnLimited(`mqtt_${key}`, WARNING_INTERVAL_MS, sentence, { ...whose, ...fields });
  }
}
