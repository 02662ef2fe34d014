/**
 * What the broker offers to the rest of the gateway and what it asks of it. The broker library and the
 * guard in front of it (decision 5) stay behind this face. No word of the device domain here: an identity
 * is whatever the `authenticate` hook says it is.
 */
import type { Duplex } from 'node:stream';

/** Who a session belongs to; several sessions may share one. */
export interface MqttIdentity {
  /** Stable key: sessions are counted, found and closed by it. */
  key: string;
}

/** One connection after login. */
export interface MqttSession {
  readonly id: string;
  readonly identity: MqttIdentity;
  readonly clientId: string;
  readonly remoteAddress: string;
}

/** A publication of a client that passed guard and access list. The retain flag is dropped. */
export interface MqttMessage {
  readonly session: MqttSession;
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  /** The DUP flag: the client says that it sent this packet before [MQTT-3.3.1-1]; always false at QoS 0. */
  readonly duplicate: boolean;
  /** Wall clock at receipt, stamped once, milliseconds since 1970. */
  readonly receivedAtMs: number;
}

export interface MqttHooks {
  /** Checks a login. Answers the identity or why not: `bad_credentials` is CONNACK 4, `not_authorized` 5. */
  authenticate(login: {
    username: string | undefined;
    password: Buffer | undefined;
    clientId: string;
    remoteAddress: string;
  }): Promise<MqttIdentity | 'bad_credentials' | 'not_authorized'>;
  /** False closes the connection. */
  mayPublish(identity: MqttIdentity, topic: string): boolean;
  /** False is SUBACK 0x80. */
  maySubscribe(identity: MqttIdentity, topicFilter: string): boolean;
  /**
   * Handles one message. When it returns a promise, PUBACK/PUBREC wait for it; a rejection closes the
   * connection without acknowledgement. Must not throw for bad content.
   */
  onMessage(message: MqttMessage): Promise<void> | void;
  onSessionOpened(session: MqttSession): void;
  onSessionClosed(session: MqttSession): void;
}

export interface MqttBroker {
  /** Opens the listener; resolves with the port really used. */
  start(): Promise<{ port: number }>;
  /** Stops accepting, closes every session after pending writes. */
  stop(): Promise<void>;
  /** Hands one client stream to the broker; tests speak MQTT over an in-memory pair. */
  accept(stream: Duplex & { remoteAddress?: string }): void;
  /** Number of sessions now connected with a subscription that matches the topic. */
  subscribers(topic: string): number;
  /**
   * Publishes at QoS 1 to the sessions now connected and subscribed; nothing is retained, queued for absent
   * sessions or sent again on reconnect. Resolves with the number of sessions it was written to.
   */
  publish(topic: string, payload: string | Buffer): Promise<number>;
  /** Closes every session of an identity. */
  closeSessions(identityKey: string): void;
  sessionCount(identityKey?: string): number;
}
