/** Requests as the bytes that go over the wire. */
import type { Schema } from '../requests/description.ts';
import type { GeneratedRequest } from '../requests/requests.ts';
import type { Stock } from '../requests/pool.ts';
import type { Random } from '../../support/random.ts';

const BOUNDARY = 'aborts-boundary';

/** An upload is sent as a form in half of the cases. */
export function bytesOf(request: GeneratedRequest, token: string, random: Random): Buffer {
  const isUpload = request.operation.bodies.some(({ mediaType }) => mediaType === 'multipart/form-data');
  const isForm = isUpload && random.chance(0.5);
  const body = request.body && isForm ? formOf(request.body) : request.body;
  const headers = {
    ...request.headers,
    ...(isForm && { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` }),
    ...(random.chance(0.5) && { 'Accept-Encoding': 'gzip' }),
  };
  const head = headOf(request.operation.method, request.target, token, headers);
  if (!body) return Buffer.from(`${head}\r\n`, 'latin1');
  if (random.chance(0.7))
    return Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`, 'latin1'), body]);
  return Buffer.concat([
    Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`, 'latin1'),
    body,
    Buffer.from(body.length === 0 ? '\r\n' : '\r\n0\r\n\r\n'),
  ]);
}

/** The handshake of RFC 6455, and some frames behind it: text, ping, close. */
export function upgradeBytes(path: string, token: string, random: Random): Buffer {
  const head = headOf('GET', path, token, {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': Buffer.alloc(16, 7).toString('base64'),
  });
  const frames = Array.from({ length: random.integer(0, 3) }, () =>
    Buffer.from([random.pick([0x81, 0x89, 0x88]), 0x80, 0, 0, 0, 0]),
  );
  return Buffer.concat([Buffer.from(`${head}\r\n`, 'latin1'), ...frames]);
}

export interface StreamPath {
  operation: string;
  path: string;
}

/** Every path of every WebSocket, with the ids of what exists. */
export function streamPaths(document: Schema, stock: Stock, ruleId: string): StreamPath[] {
  const ids: Record<string, string> = {
    site_id: stock.siteId,
    device_id: stock.device.id,
    rule_id: ruleId,
  };
  return (document['x-streams'] as { operation: string; paths: { path: string }[] }[]).flatMap(
    ({ operation, paths }) =>
      paths.map(({ path }) => ({
        operation,
        path: path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? name),
      })),
  );
}

function headOf(method: string, target: string, token: string, headers: Record<string, string>): string {
  const lines = Object.entries({ Host: 'gateway.local', 'X-Service-Auth-Token': token, ...headers });
  return [`${method} ${target} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`), ''].join(
    '\r\n',
  );
}

function formOf(content: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="data"; filename="data.zip"\r\n` +
        'Content-Type: application/zip\r\n\r\n',
    ),
    content,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
}
