/** Node's HTTP server with the limits of the gateway, and its ordered stop. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { gatewayError, type Problem } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import { envelope, errorAnswer } from './answer.ts';
import type { WebSockets } from './web-socket.ts';

export function createNodeServer(
  answer: Parameters<typeof getRequestListener>[0],
  limits: Limits,
  log: Log,
): Server {
  const listener = getRequestListener(answer, {
    hostname: 'localhost',
    overrideGlobalObjects: false,
    errorHandler: (error) => {
      log.debug('request is not usable', { error });
      return errorAnswer(gatewayError('invalid_argument', 'invalid_path', 'The request line is not usable.'));
    },
  });
  const server = createServer(
    {
      maxHeaderSize: limits.http.headerBytes,
      headersTimeout: limits.http.headersTimeoutMs,
      requestTimeout: limits.http.requestTimeoutMs,
      keepAliveTimeout: limits.http.keepAliveTimeoutMs,
      // HTTP/1.1 without Host is answered by us, with the envelope.
      requireHostHeader: false,
    },
    (incoming, outgoing) => void listener(incoming, outgoing),
  );
  server.maxConnections = limits.http.connections;
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else socket.end(clientErrorAnswer(error.code));
  });
  return server;
}

/** Node refuses such a request before any handler; the answer is our envelope all the same. */
function clientErrorAnswer(code: string | undefined): string {
  const [status, problem]: [string, Problem] =
    code === 'HPE_HEADER_OVERFLOW'
      ? [
          '431 Request Header Fields Too Large',
          { code: 'payload_too_large', message: 'The headers are too large.' },
        ]
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', { code: 'invalid_body', message: 'The request took too long to arrive.' }]
        : ['400 Bad Request', { code: 'invalid_path', message: 'The request is not HTTP/1.1.' }];
  const body = envelope([problem]);
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
  return `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

export function listen(server: Server, host: string, port: number): Promise<{ port: number }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve({ port: (server.address() as AddressInfo).port });
    });
  });
}

export async function stop(
  server: Server,
  webSockets: WebSockets,
  stopping: AbortController,
  clock: Clock,
  withinMs: number,
): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  stopping.abort();
  webSockets.closeWhere(() => true, 1001, 'gateway is stopping');
  server.closeIdleConnections();
  const deadline = clock.setTimer(withinMs, () => server.closeAllConnections());
  await closed;
  deadline.cancel();
}
