/**
 * The connections of scripts to servers of HTTP. What must not be carried out twice has one of its own, because a server may
 * be closing a kept one at this very moment. Others are used again, but answers over one connection have no numbers
 * (RFC 9112, 9.3): where a server says something behind its answer, that would be the answer to the next request. The runtime
 * closes a connection over which it comes between two requests. So the first one to each server carries one request, and
 * others only when it was left open for a while.
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

/** By origin: when its first answer was there; infinite while it is awaited, and where the server says more. */
const answeredMs = new Map<string, MonotonicMs>();
let clients: Record<'plain' | 'strict' | 'lenient', Client> | undefined;

/** What one request to `url` goes over. */
export function connectionFor(
  method: string,
  { origin, protocol }: URL,
  insecureTls: boolean,
  clock: Pick<Clock, 'monotonicMs'>,
): Connection {
  const { kept, single, request } = clientOf(protocol, insecureTls);
  const isSilent = (): boolean => clock.monotonicMs() - (answeredMs.get(origin) ?? 0) >= WATCHED_MS;
  const forget = (): void => void answeredMs.delete(origin);
  const isWatched = REPEATABLE.has(method) && !answeredMs.has(origin);
  if (isWatched) note(origin, Number.POSITIVE_INFINITY);
  const agent = isWatched || (REPEATABLE.has(method) && isSilent()) ? kept : single;
  let hasSaidMore = false;
  const saidMore = (): void => {
    hasSaidMore = true;
    note(origin, Number.POSITIVE_INFINITY);
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
        else if (isWatched && !isSilent()) forget();
      });
    },
    isOver: (isAnswered) => {
      if (!isWatched || hasSaidMore) return;
      if (isAnswered) note(origin, clock.monotonicMs());
      else forget();
    },
  };
}

function note(origin: string, atMs: MonotonicMs): void {
  answeredMs.delete(origin);
  const [oldest] = answeredMs.keys();
  if (answeredMs.size >= SERVERS_MAX && oldest !== undefined) answeredMs.delete(oldest);
  answeredMs.set(origin, atMs);
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
