/** Hostile bytes for an HTTP port: requests and WebSocket upgrades that are right, nearly right, or nothing. */
import type { Random } from '../../support/random.ts';
import { type HostileSequence, noise } from './mqtt-garbage.ts';

const PATHS = [
  '/',
  '/healthz',
  '/metrics',
  '/v3/site',
  '/v3/devices',
  '/v3/devices?limit=-1&expand=nonsense',
  '/v3/devices/../../etc/passwd',
  '/v3/devices/%00/logs',
  '/v3/devices/%ff',
  '/v3/blueprints/upload',
  '/v3/blueprints/validate',
  '/v3/auth/login',
  '/v3/auth/claim',
  '/v3/provisioning/standalone',
  '/v3/telemetry/query_timeseries',
  '/v3/site/rule_engine/rules',
  '//v3//site',
  '/v3/site?token=abc',
  '*',
  'http://attacker.example/v3/site',
];
const METHODS = ['GET', 'GET', 'POST', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS', 'HEAD', 'TRACE', 'BREW'];

/** @param token of a role that may read, carried by a part of the requests */
export function hostileHttp(random: Random, token: string): HostileSequence {
  const kind = random.next();
  const bytes =
    kind < 0.1
      ? noise(random, random.integer(1, 2_000))
      : kind < 0.4
        ? upgrade(random, token)
        : Buffer.concat(Array.from({ length: random.integer(1, 4) }, () => request(random, token)));
  return {
    bytes,
    chunkBytes: random.pick([1, 50, 1_000, 100_000, 100_000]),
    isAbrupt: random.chance(0.5),
  };
}

function request(random: Random, token: string): Buffer {
  const body = bodyOf(random);
  const lines = [
    `${random.pick(METHODS)} ${pathOf(random)} HTTP/${random.pick(['1.1', '1.1', '1.1', '1.0', '2.0', '9'])}`,
    ...(random.chance(0.9)
      ? [`Host: ${random.pick(['gateway', '127.0.0.1', 'attacker.example', 'a b', ''])}`]
      : []),
    ...(random.chance(0.4) ? [`X-Service-Auth-Token: ${token}`] : []),
    ...headers(random),
  ];
  const framing = random.integer(0, 3);
  if (framing === 0) lines.push('Transfer-Encoding: chunked');
  if (framing <= 1) lines.push(`Content-Length: ${body.length}`);
  if (framing === 2) lines.push(`Content-Length: ${random.pick(['-1', '1e9', '99999999999', '0x10', '7'])}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

function pathOf(random: Random): string {
  const path = random.pick(PATHS);
  if (random.chance(0.7)) return path;
  return path + noise(random, random.integer(1, 30)).toString('latin1').replace(/\s/g, '/');
}

function headers(random: Random): string[] {
  return Array.from({ length: random.integer(0, 3) }, () =>
    random.pick([
      'Expect: 100-continue',
      'Connection: close',
      'Connection: upgrade, close',
      'Upgrade: h2c',
      'Accept-Encoding: gzip;q=0.5, *;q=x',
      'Content-Encoding: gzip',
      'Content-Type: multipart/form-data; boundary=x',
      'Range: bytes=0-,5-',
      'X-Request-Id: \x01\x02',
      'Cookie: gateway_session=abc; gateway_session=def',
      `X-Long: ${'x'.repeat(random.pick([100, 20_000, 70_000]))}`,
      'Origin: http://attacker.example',
      ': empty',
      'Transfer-Encoding: identity, chunked',
    ]),
  );
}

function bodyOf(random: Random): Buffer {
  switch (random.integer(0, 6)) {
    case 0:
      return Buffer.alloc(0);
    case 1:
      return noise(random, random.integer(1, 500));
    case 2:
      return Buffer.from('['.repeat(random.pick([10, 100, 50_000])));
    case 3:
      return Buffer.alloc(random.pick([1_000, 100_000, 1_100_000]), '{');
    case 4:
      return Buffer.from(
        '--x\r\nContent-Disposition: form-data; name="data"; filename="a"\r\n\r\nPK\x03\x04',
      );
    case 5:
      return Buffer.from('5\r\nhello\r\nffffffffff\r\n');
    default:
      return Buffer.from(JSON.stringify({ name: 'x', password: 'y', __proto__: null, script: 'return 1' }));
  }
}

/** The handshake, mostly right, and frames that mostly are not (RFC 6455). */
function upgrade(random: Random, token: string): Buffer {
  const path = random.pick(['/v3/devices', '/v3/devices/x/logs', '/v3/site/rule_engine/rules/x/logs', '/']);
  const lines = [
    `GET ${path} HTTP/1.1`,
    'Host: gateway',
    'Connection: Upgrade',
    'Upgrade: websocket',
    `Sec-WebSocket-Version: ${random.pick(['13', '13', '13', '8', 'x'])}`,
    `Sec-WebSocket-Key: ${random.chance(0.9) ? 'AAAAAAAAAAAAAAAAAAAAAA==' : 'short'}`,
    ...(random.chance(0.8) ? [`X-Service-Auth-Token: ${token}`] : []),
    ...(random.chance(0.3) ? ['Sec-WebSocket-Extensions: permessage-deflate'] : []),
  ];
  const frames = Array.from({ length: random.integer(0, 5) }, () =>
    random.chance(0.3) ? noise(random, random.integer(1, 100)) : frame(random),
  );
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), ...frames]);
}

function frame(random: Random): Buffer {
  const body = noise(random, random.integer(0, 125));
  const first = random.pick([0x81, 0x82, 0x89, 0x8a, 0x88, 0x01, 0x80, 0xf1, 0x8f]);
  if (random.chance(0.2))
    return Buffer.concat([Buffer.from([first, 0xff, 0, 0, 0, 0, random.integer(0, 255), 0, 0, 0]), body]);
  return Buffer.concat([Buffer.from([first, 0x80 | body.length, 0, 0, 0, 0]), body]);
}
