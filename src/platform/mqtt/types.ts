/**
 * What the broker offers to the rest of the gateway and what it asks of it. The broker library and the
 * guard in front of it stay behind this face. No word of the device domain here: an identity
 * is whatever the `authenticate` hook says it is.
 */
import type { Limits } from '../../lib/limits.ts';
import type { EpochMs } from '../../lib/time.ts';

/** `LIMITS.mqtt`, or the same members with other numbers. */
export type MqttLimits = Limits['mqtt'];

/** The owner of a session; several sessions may share one. */
export interface MqttIdentity {
  /** Stable key: sessions are counted, found and closed by it. */
  key: string;
  /** How many devices speak through it now, each with a share of its own of the rate. Absent: one. */
  devices?: () => number;
}

/** A client certificate of our own authority; that its owner has the key was proven by the handshake. */
export interface MqttCertificate {
  /** Empty when the subject has none. */
  commonName: string;
  /** Lower-case hexadecimal. */
  serial: string;
  /** SHA-256 of the certificate, lower-case hexadecimal without colons. */
  fingerprint: string;
}

/** One connection after login. */
export interface MqttSession {
  /** Unique among all sessions of this run. */
  readonly id: string;
  readonly identity: MqttIdentity;
  /** As the client gave it, or one made for it. Names a session within its identity only. */
  readonly clientId: string;
  readonly remoteAddress: string;
}

/** A publication of a client that passed guard and access list. */
export interface MqttMessage {
  readonly session: MqttSession;
  readonly topic: string;
  /** May be a view of a larger network buffer: copy what is kept beyond the handling of the message. */
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  /** The DUP flag: the client says that it sent this packet before [MQTT-3.3.1-1]; always false at QoS 0. */
  readonly duplicate: boolean;
  /** The RETAIN flag: new subscriptions of the topic expect this message. */
  readonly isRetained: boolean;
  /** Wall clock at receipt, stamped once, milliseconds since 1970. */
  readonly receivedAtMs: EpochMs;
}

/** A refusal because of a client's identity or rights; protocol faults and limits are not reported so. */
export interface MqttRefusal {
  readonly what: 'login' | 'publish' | 'subscribe' | 'will';
  /** Reason of a refused login. */
  readonly reason?: string;
  /** Key of its identity; before the login the claimed name: user name or common name of the certificate. */
  readonly claimed: string | undefined;
  /** Topic or topic filter. */
  readonly topic?: string;
  readonly remoteAddress: string;
}

/**
 * Questions and notices of the broker. What a hook throws is logged and never reaches the network: a
 * question then counts as refused, a message as not taken.
 */
export interface MqttHooks {
  /** Checks a login. Answers the identity or why not: `bad_credentials` is CONNACK 4, `not_authorized` 5. */
  authenticate(login: {
    username: string | undefined;
    password: Buffer | undefined;
    clientId: string;
    remoteAddress: string;
  }): Promise<MqttIdentity | 'bad_credentials' | 'not_authorized'>;
  /**
   * Checks a login over TLS, where the certificate counts and user name and password do not. The dates of the
   * certificate are not judged: revocation is. Absent: no certificate is accepted.
   */
  authenticateCertificate?(
    login: MqttCertificate & { clientId: string; remoteAddress: string },
  ): Promise<MqttIdentity | 'not_authorized'>;
  /** False: the message, or the will, is acknowledged and dropped. Asked for every message. */
  mayPublish(identity: MqttIdentity, topic: string): boolean;
  /** False is SUBACK 0x80. Asked again when a kept session returns. */
  maySubscribe(identity: MqttIdentity, topicFilter: string): boolean;
  /** Filters were granted; after the answer that says so is written. */
  onSubscribed?(session: MqttSession, filters: readonly string[]): void;
  /**
   * Handles one message, a delivered will included. When it returns a promise, PUBACK/PUBREC wait for it; a
   * rejection closes the connection without acknowledgement (at QoS 0 the message is counted as dropped).
   * A QoS 2 message arrives once; a QoS 1 message that the client sends again arrives again. Must not
   * throw for bad content.
   */
  onMessage(message: MqttMessage): Promise<void> | void;
  /**
   * A client waits for what was handed over last: it sends each message only after the acknowledgement of the one
   * before, or it is one of few that send seldom, however much others send.
   */
  onAwaited?(): void;
  /** The identity sends too fast: a QoS 0 message was dropped, or the connection is read more slowly. */
  onTooFast?(identity: MqttIdentity, effect: 'dropped' | 'slowed_down'): void;
  /** After each refusal, dropped messages included; once for all filters of one packet. */
  onRefused?(refusal: MqttRefusal): void;
  /** Name in the log of a client that claims to be this; undefined when there is no such client. Absent: there is none. */
  nameOf?(claimed: string): string | undefined;
  /** Called once per session, before the client learns that it is connected. */
  onSessionOpened(session: MqttSession): void;
  /**
   * Once per opened session, whatever ended it; after its will. `reason` as in the metric of closes, `problem` what
   * the client did that the protocol forbids.
   */
  onSessionClosed(session: MqttSession, reason: string, problem?: string): void;
}
