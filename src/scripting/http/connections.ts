/**
 * The connections of scripts to servers of HTTP: kept for the next request. A request that must not be carried out twice has a
 * connection of its own, because a server may close a kept one at the moment when it is used again.
 */
import type { Agent, request as Request } from 'node:http';

const KEPT = { keepAlive: true, maxFreeSockets: 4, timeout: 60_000 };
/** Methods that may be carried out twice without harm (RFC 9110, 9.2.1). */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

interface Client {
  request: typeof Request;
  /** Keeps connections for the next request. */
  kept: Agent;
  /** One request, one connection. */
  single: Agent;
}

let clients: Record<'plain' | 'strict' | 'lenient', Client> | undefined;

/** The function and the agent for one request to a server of `protocol`. */
export function connectionFor(
  method: string,
  protocol: string,
  insecureTls: boolean,
): { request: typeof Request; agent: Agent } {
  const { kept, single, request } = clientOf(protocol, insecureTls);
  return { request, agent: REPEATABLE.has(method) ? kept : single };
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
