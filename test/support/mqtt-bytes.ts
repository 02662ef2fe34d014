/** Control packets as bytes, valid and invalid ones: nothing is checked here. */

export function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
}

/** First byte, remaining length, body. */
export function packet(firstByte: number, ...parts: (Buffer | readonly number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const length: number[] = [];
  let rest = body.length;
  do {
    length.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    rest >>= 7;
  } while (rest > 0);
  return Buffer.concat([Buffer.from([firstByte, ...length]), body]);
}

export function connectBytes(
  options: {
    name?: string;
    level?: number;
    /** Replaces the flags that follow from the other members. */
    flags?: number;
    clean?: boolean;
    keepAliveS?: number;
    clientId?: string | Buffer;
    will?: { topic: string | Buffer; payload: string; qos?: number; retain?: boolean };
    username?: string | Buffer;
    password?: string;
  } = {},
): Buffer {
  const { will, username = 'a', password = 'secret', keepAliveS = 60 } = options;
  const flags =
    (options.clean === false ? 0 : 0x02) |
    (will ? 0x04 | ((will.qos ?? 0) << 3) | (will.retain ? 0x20 : 0) : 0) |
    0xc0;
  return packet(
    0x10,
    text(options.name ?? 'MQTT'),
    [options.level ?? 4, options.flags ?? flags, keepAliveS >> 8, keepAliveS & 0xff],
    text(options.clientId ?? ''),
    will ? Buffer.concat([text(will.topic), text(will.payload)]) : [],
    text(username),
    text(password),
  );
}

export function publishBytes(
  topic: string | Buffer,
  payload: string | Buffer,
  options: { qos?: number; packetId?: number; flags?: number } = {},
): Buffer {
  const { qos = 0, packetId = 1 } = options;
  return packet(
    0x30 | (qos << 1) | (options.flags ?? 0),
    text(topic),
    qos > 0 ? id(packetId) : [],
    Buffer.from(payload),
  );
}

export function subscribeBytes(packetId: number, ...requests: [filter: string | Buffer, options: number][]) {
  return packet(
    0x82,
    id(packetId),
    ...requests.map(([filter, options]) => Buffer.concat([text(filter), Buffer.from([options])])),
  );
}

export function unsubscribeBytes(packetId: number, ...filters: (string | Buffer)[]): Buffer {
  return packet(0xa2, id(packetId), ...filters.map(text));
}

export function pubrelBytes(packetId: number): Buffer {
  return packet(0x62, id(packetId));
}

export const PINGREQ = Buffer.from([0xc0, 0]);
export const DISCONNECT = Buffer.from([0xe0, 0]);
export const CONNACK_ACCEPTED = '20020000';

function id(packetId: number): number[] {
  return [packetId >> 8, packetId & 0xff];
}
