/** Hostile byte sequences for an MQTT port, made from random numbers alone: right packets, bent ones, and noise. */
import { generate } from 'mqtt-packet';
import type { Random } from '../../support/random.ts';
import { COSTLY_PAYLOADS } from './costly-payloads.ts';

/** A login that the broker accepts, so that part of the attack comes from inside. */
export interface Insider {
  username: string;
  password: string;
}

export interface HostileSequence {
  bytes: Buffer;
  /** How many bytes are written at once. */
  chunkBytes: number;
  /** Ends without a word instead of closing in order. */
  isAbrupt: boolean;
}

/** Packets of a sequence; the greatest of them has some 300 000 bytes, a little over the limit. */
const PACKETS_MAX = 8;

/** The same numbers give the same sequence. */
export function hostileMqtt(random: Random, insider: Insider): HostileSequence {
  const parts: Buffer[] = random.chance(0.8) ? [login(random, insider)] : [];
  for (let count = random.integer(1, PACKETS_MAX); count > 0; count -= 1) parts.push(part(random, insider));
  return {
    bytes: Buffer.concat(parts),
    chunkBytes: random.pick([1, 7, 64, 1_000, 100_000, 100_000]),
    isAbrupt: random.chance(0.5),
  };
}

/** Random bytes. */
export function noise(random: Random, sizeBytes: number): Buffer {
  return Buffer.from(Array.from({ length: sizeBytes }, () => random.integer(0, 255)));
}

function part(random: Random, insider: Insider): Buffer {
  const kind = random.next();
  if (kind < 0.3) return valid(random, insider);
  if (kind < 0.7) return bent(random, valid(random, insider));
  if (kind < 0.8) return noise(random, random.integer(0, 200));
  if (kind < 0.9) return Buffer.concat([header(random), noise(random, random.integer(0, 200))]);
  const body = noise(random, random.integer(0, 120));
  return Buffer.concat([Buffer.from([random.integer(0, 255), body.length]), body]);
}

function login(random: Random, { username, password }: Insider): Buffer {
  return generate({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clientId: random.chance(0.3) ? '' : `hostile-${random.integer(0, 20)}`,
    clean: true,
    keepalive: random.pick([0, 1, 60, 65_535]),
    username,
    password: Buffer.from(random.chance(0.97) ? password : 'wrong'),
  });
}

/** A fixed header that announces more than ever comes. */
function header(random: Random): Buffer {
  return Buffer.from([
    random.integer(0, 255),
    random.integer(128, 255),
    random.integer(128, 255),
    random.integer(128, 255),
    random.integer(0, 127),
  ]);
}

/** One thing wrong with a right packet, or cut short, or with a tail. */
function bent(random: Random, packet: Buffer): Buffer {
  const bytes = Buffer.from(packet);
  const kind = random.integer(0, 2);
  if (kind === 0) bytes[random.integer(0, Math.min(bytes.length, 40) - 1)] = random.integer(0, 255);
  else if (kind === 1) return bytes.subarray(0, random.integer(0, bytes.length));
  else return Buffer.concat([bytes, noise(random, random.integer(1, 20))]);
  return bytes;
}

function valid(random: Random, { username }: Insider): Buffer {
  const own = `v1/from/${username}/ucm`;
  const messageId = random.integer(1, 5);
  switch (random.integer(0, 6)) {
    case 0:
      return generate({ cmd: 'pingreq' });
    case 1:
      return generate({ cmd: 'pubrel', messageId });
    case 2:
      return generate({
        cmd: 'subscribe',
        messageId,
        subscriptions: [
          {
            topic: random.pick([`v1/to/${username}/#`, '#', '$SYS/#', 'v1/to/+/ucm/v1/command/requests']),
            qos: random.pick([0, 1, 2]),
          },
        ],
      });
    case 3:
      return generate({ cmd: 'unsubscribe', messageId, unsubscriptions: [`v1/to/${username}/#`] });
    case 4:
      return random.chance(0.2) ? generate({ cmd: 'disconnect' }) : generate({ cmd: 'puback', messageId });
    default:
      return generate({
        cmd: 'publish',
        topic: `${own}/${random.pick(['v1/telemetry', 'v1/register', 'v3/logs', 'v1/command/responses', 'x'])}`,
        payload: payload(random),
        qos: random.pick([0, 1, 2]),
        messageId,
        dup: random.chance(0.2),
        retain: random.chance(0.2),
      });
  }
}

function payload(random: Random): Buffer {
  switch (random.integer(0, 10)) {
    case 7:
    case 8:
      return random.pick(COSTLY_PAYLOADS).payload;
    case 0:
      return noise(random, random.integer(0, 300));
    case 1:
      return Buffer.from(random.chance(0.5) ? '['.repeat(100_000) : '{"a":'.repeat(20_000));
    case 2:
      return Buffer.alloc(random.pick([1_000, 262_144, 262_145, 300_000]), 'x');
    case 3:
      return Buffer.from(
        JSON.stringify({ __proto__: { x: 1 }, constructor: 1, timestamp: random.next() * 1e18 }),
      );
    case 4:
      return Buffer.from(JSON.stringify(many((index) => [`k${index}`, index])));
    case 5:
      return Buffer.from(JSON.stringify(many((index) => [`n${random.integer(0, 2 ** 31)}`, index])));
    case 6:
      return Buffer.from(JSON.stringify(many((index) => [`p${index % 20}`, 'x'.repeat(10_000)])));
    default:
      return Buffer.from(JSON.stringify({ message: 'hostile', severity: 7, state: [], voltage: '1e999' }));
  }
}

function many(entry: (index: number) => [string, unknown]): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => entry(index)));
}
