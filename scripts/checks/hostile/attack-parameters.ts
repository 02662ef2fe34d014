/** Orders and reports of an attacking thread. */
import type { Insider } from './mqtt-garbage.ts';

export interface Attack {
  seed: number;
  /** Hostile MQTT sequences, and nothing else; absent: everything mixed for `durationMs`. */
  sequences: number | undefined;
  durationMs: number;
  /** Connections at once. */
  width: number;
  ports: { http: number; https: number; mqtt: number; mqtts: number };
  insiders: readonly Insider[];
  /** Access token that may read. */
  token: string;
  /** Addresses to come from; other ones than that of the clients that are measured. */
  localAddresses: readonly string[];
}

/** How many connections of each kind were made. */
export type AttackCounts = Record<'mqtt' | 'http' | 'tls' | 'idle', number>;
