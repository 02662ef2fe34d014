/**
 * The connections of scripts to servers of HTTP. What must not be carried out twice has one of its own, because a server may
 * be closing a kept one at this very moment. Others are used again, but answers over one connection have no numbers
 * (RFC 9112, 9.3): where a server says something behind its answer, that would be the answer to the next request. The runtime
 * closes a connection over which it comes between two requests. So those to a server are used again only after they were
 * silent for a while, and never once it has said more.
 */
import type { Agent, request as Request } from 'node:http';
import type { Duplex } from 'node:stream';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';

const KEPT = { keepAlive: true, maxFreeSockets: 4, timeout: 60_000 };
/** Methods that may be carried out twice without harm (RFC 9110, 9.2.1). */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** G: a server that says more than it was asked does so within that time. */
const WATCHED_MS: DurationMs = 1_000;
/** G: more servers than a site has. */
const SERVERS_MAX = 1_000;

interface Connection {
  request: typeof Request;
  agent: Agent;
  /** This one was made for the request. */
  opened(socket: Duplex): void;
  /** More came behind the answer. */
  saidMore(): void;
  /** The exchange is over, with a whole answer or without. */
  isOver(isAnswered: boolean): void;
}

interface Client {
  request: typeof Request;
  /** Keeps connections for the next request. */
  kept: Agent;
  /** One request, one connection. */
  single: Agent;
}

interface Server {
  /** Its last answer over a kept connection was there; infinite while the first is awaited. */
  answeredMs: MonotonicMs;
  saysMore: boolean;
}

/** By origin. */
const servers = new Map<string, Server>();
let clients: Record<'plain' | 'strict' | 'lenient', Client> | undefined;

/** What one request to `url` goes over. */
export function connectionFor(
  method: string,
  { origin, protocol }: URL,
  insecureTls: boolean,
  clock: Pick<Clock, 'monotonicMs'>,
): Connection {
  const { kept, single, request } = clientOf(protocol, insecureTls);
  const isSilent = ({ answeredMs, saysMore }: Server): boolean =>
    !saysMore && clock.monotonicMs() - answeredMs >= WATCHED_MS;
  const isRepeatable = REPEATABLE.has(method);
  const isFirst = isRepeatable && !servers.has(origin);
  const server = isFirst ? begin(origin) : servers.get(origin);
  const agent = isFirst || (isRepeatable && server && isSilent(server)) ? kept : single;
  const saidMore = (): void => {
    (servers.get(origin) ?? begin(origin)).saysMore = true;
  };
  return {
    request,
    agent,
    saidMore,
    opened: (socket) => {
      if (agent === single) return;
      socket.once('close', (isError: boolean) => {
        // Closed on this side: for what was said, or after a minute without a request.
        if (!isError && !socket.readableEnded) saidMore();
        else if (isFirst && server && !server.saysMore && !isSilent(server)) servers.delete(origin);
      });
    },
    isOver: (isAnswered) => {
      if (agent === single || !server) return;
      if (isAnswered) server.answeredMs = clock.monotonicMs();
      else if (isFirst && !server.saysMore) servers.delete(origin);
    },
  };
}

/** The one that was begun longest ago is forgotten when there are too many. */
function begin(origin: string): Server {
  const [oldest] = servers.keys();
  if (servers.size >= SERVERS_MAX && oldest !== undefined) servers.delete(oldest);
  const server = { answeredMs: Number.POSITIVE_INFINITY, saysMore: false };
  servers.set(origin, server);
  return server;
}

/**
 * Loaded with the first request, because most scripts never ask; and not by `import`, which fetches all that `node:http`
 * offers, an engine for `fetch` among it: 16 MB in every thread of scripts.
 */
function loadClients(): NonNullable<typeof clients> {
  const http = process.getBuiltinModule('node:http');
  const https = process.getBuiltinModule('node:https');
  const plain = { request: http.request, kept: new http.Agent(KEPT), single: new http.Agent() };
  const overTls = (options: object): Client => ({
    request: https.request,
    kept: new https.Agent({ ...KEPT, ...options }),
    single: new https.Agent(options),
  });
  return { plain, strict: overTls({}), lenient: overTls({ rejectUnauthorized: false }) };
}

function clientOf(protocol: string, insecureTls: boolean): Client {
  clients ??= loadClients();
  if (protocol === 'http:') return clients.plain;
  return insecureTls ? clients.lenient : clients.strict;
}
