/** The service log of one connection: each sentence at most once a minute for one client. */
import type { Log } from '../log/index.ts';
import type { Violation } from './packet-types.ts';
import type { MqttIdentity, MqttSession } from './types.ts';

const WARNING_INTERVAL_MS = 60_000;
/** G: a client may choose a longer name than a person wants to read. */
const CLIENT_ID_LENGTH = 64;

/** Ends that nobody wanted and that have no warning of their own. */
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

export type ConnectionLog = ReturnType<typeof createConnectionLog>;

export function createConnectionLog(log: Log, remoteAddress: string) {
  let session: MqttSession | undefined;
  const warn = (key: string, sentence: string, fields: Record<string, unknown>): void => {
    const whose = { identity: session?.identity.key, remote_address: remoteAddress };
    log.warnLimited(`mqtt_${key}`, WARNING_INTERVAL_MS, sentence, { ...whose, ...fields });
  };
  return {
    opened: (opened: MqttSession) => {
      session = opened;
    },
    violation: ({ statement, problem }: Violation) => {
      const sentence = 'connection closed: the client broke the protocol';
      warn(`violation:${remoteAddress}`, sentence, { statement, problem });
    },
    full: (limit: string, { key }: MqttIdentity) =>
      warn(`${limit}:${key}`, 'client turned away: too many sessions', { limit, identity: key }),
    slow: (queuedBytes: number) => {
      const sentence = 'connection closed: the client does not read what it asked for';
      warn(`slow:${remoteAddress}`, sentence, { queued_bytes: queuedBytes });
    },
    ended: (reason: string) => {
      if (!REMARKABLE_ENDS.has(reason)) return;
      const whose = session?.identity.key ?? remoteAddress;
      const client_id = session?.clientId.slice(0, CLIENT_ID_LENGTH);
      warn(`close:${reason}:${whose}`, 'connection closed by the broker', { reason, client_id });
    },
    failed: (error: unknown) => log.error('connection failed inside the broker', { error }),
  };
}
