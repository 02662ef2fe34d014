/** Site and access behind the real HTTP side, without a socket, on a real state.db. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Auth, authRoutes, type IssuableRole } from '../../src/capabilities/auth/index.ts';
import { Audit, auditRoutes } from '../../src/capabilities/audit/index.ts';
import { createSite, resolveSiteId, type Site, siteRoutes } from '../../src/capabilities/site/index.ts';
import type { Limits } from '../../src/lib/limits.ts';
import { Http, type Principal, route } from '../../src/platform/http/index.ts';
import type { Role } from '../../src/lib/role.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import { createGroupCommit, type Database } from '../../src/platform/sqlite/index.ts';
import { CHEAP } from '../capabilities/auth/support.ts';
import { openMigrated } from '../support/databases.ts';
import { TestClock } from '../support/test-clock.ts';
import { trace } from '../support/trace.ts';
import { type LogLine, recordingLog, temporaryFolder } from '../support/workspace.ts';

export interface Answer {
  status: number;
  /** Parsed JSON; undefined when the answer is none. */
  body: unknown;
  headers: Headers;
}

export interface Api {
  clock: TestClock;
  database: Database;
  dataDir: string;
  lines: LogLine[];
  site: Site;
  auth: Auth;
  audit: Audit;
  http: Http;
  /** Calls as the given role; `null` without a token. */
  call: (role: Role | null, method: string, path: string, body?: unknown) => Promise<Answer>;
  /** Calls with exactly these headers. */
  send: (method: string, path: string, headers: Record<string, string>, body?: unknown) => Promise<Answer>;
}

/** The role of calls without a token, when a test wants one. */
const ANONYMOUS: Principal = {
  role: 'READONLY',
  origin: { kind: 'anonymous', id: 'anonymous', name: 'anonymous' },
  rateKey: 'anonymous',
};

/** Stands for an operation of another capability that needs no token. */
const anonymousRoute = route({
  operation: 'test_anonymous',
  GET: ['/v3/test/anonymous'],
  role: null,
  handle: () => ({}),
});

export interface ApiOptions {
  clock?: TestClock;
  /** Calls without a token are READONLY. */
  anonymous?: boolean;
  audit?: { limits?: Limits['audit'] };
}

export function startApi(test: Pick<TestContext, 'after'>, options: ApiOptions = {}): Api {
  const { clock = new TestClock() } = options;
  const { log, lines } = recordingLog(clock);
  const dataDir = temporaryFolder(test);
  const database = openMigrated('state', {
    path: join(dataDir, 'state.db'),
    clock,
    log,
  });
  test.after(() => database.close());
  const metrics = createMetrics();
  const site = createSite({ database, clock, log, defaultName: 'Depot', defaultTimezone: 'UTC' });
  const auth = new Auth({ database, clock, log, metrics, dataDir, limits: CHEAP });
  const commits = createGroupCommit({ database, name: 'state', clock, log, metrics });
  const audit = new Audit({ database, commits, clock, log, metrics, ...options.audit });
  audit.start();
  test.after(() => audit.stop());
  auth.start();
  test.after(() => auth.stop());
  let ids = 0;
  const http = new Http({
    host: '127.0.0.1',
    port: 0,
    clock,
    log,
    metrics,
    newId: () => `request-${++ids}`,
    onAnswered: (answered) => audit.record(answered),
    authenticate: (token) => auth.tokens.authenticate(token),
    isClaimed: () => auth.claim.isClaimed(),
    ...(options.anonymous && { anonymous: ANONYMOUS }),
    resolvers: { site_id: resolveSiteId(site) },
    routes: [...siteRoutes(site), ...authRoutes(auth), ...auditRoutes(audit), anonymousRoute],
    requestsPerSecond: 10_000,
    requestBurst: 10_000,
    streams: [],
  });
  const tokens = new Map<Role, string>();
  const tokenOf = (role: Role): string => {
    const token = tokens.get(role) ?? auth.tokens.create({ name: role, role: role as IssuableRole }).text;
    tokens.set(role, token);
    return token;
  };
  const send: Api['send'] = async (method, path, headers, body) => {
    const response = await http.fetch(
      new Request(new URL(path, 'http://gateway.test'), {
        method,
        headers,
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    );
    trace({ method, path, headers, body, status: response.status });
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json';
    return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
  };
  return {
    clock,
    database,
    dataDir,
    lines,
    site,
    auth,
    audit,
    http,
    send,
    call: (role, method, path, body) =>
      send(method, path, role === null ? {} : { 'X-Service-Auth-Token': tokenOf(role) }, body),
  };
}

/** `status code …` of an answer, one code per problem. */
export function refusal({ status, body }: Answer): string {
  const { errors } = body as { errors: { code: string }[] };
  return [status, ...errors.map(({ code }) => code)].join(' ');
}

/** The token in the answer of a claim, a login, or the making of a token. */
export const tokenOf = ({ body }: Answer): string => (body as { token: string }).token;

export const as = (token: string) => ({ 'X-Service-Auth-Token': token });

/** What `GET /v3/auth/me` answers with these headers. */
export const me = async (api: Api, headers: Record<string, string>): Promise<unknown> =>
  ((await api.send('GET', '/v3/auth/me', headers)).body as { me?: unknown }).me;

export const PASSWORD = 'correct horse';

/** A gateway whose installer has logged in. */
export async function claimed(
  test: Pick<TestContext, 'after'>,
  options: ApiOptions = {},
): Promise<{ api: Api; token: string; userId: string; ended: string[] }> {
  const api = startApi(test, options);
  const ended: string[] = [];
  api.auth.events.on('token_revoked', 'test', ({ tokenId }) => ended.push(tokenId));
  const answer = await api.call(null, 'POST', '/v3/auth/claim', {
    claim_code: api.auth.claim.code(),
    password: PASSWORD,
  });
  const { token, user } = answer.body as { token: string; user: { id: string } };
  return { api, token, userId: user.id, ended };
}
