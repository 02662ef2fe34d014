/** Sends generated requests to a gateway and judges every answer. */
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';
import { inParallel } from '../../support/gateway-client.ts';
import { createRandom } from '../../support/random.ts';
import { callable, readDescription, type Schema } from './description.ts';
import { createPool, type Pool, type Stock } from './pool.ts';
import { type Caller, createRequests, type Delivery, type GeneratedRequest } from './requests.ts';
import { createJudge, type ReceivedAnswer } from './verdict.ts';

export interface RequestCheck {
  origin: string;
  tokens: Readonly<Record<Exclude<Caller, 'session' | 'nobody' | 'stranger'>, string>>;
  stock: Stock;
  seed: number;
  requests: number;
  /** Requests at once. */
  width: number;
  /** Told of every answer, for progress. */
  onAnswer?: (request: GeneratedRequest, answer: ReceivedAnswer) => void;
}

export interface RequestCheckReport {
  requests: number;
  operations: number;
  /** Paths times methods. */
  endpoints: number;
  byStatus: ReadonlyMap<number, number>;
  /** Whose connection was ended before an answer, by us or, in the middle of a body, by the gateway. */
  aborted: number;
  /** Operations whose good answer was never seen. */
  neverGood: readonly string[];
  failures: readonly string[];
}

const FAILURES_MAX = 50;
const TIMEOUT_MS = 90_000;
/** A time series of a thousand columns has a header line for each. */
const ANSWER_HEADER_BYTES = 262_144;

export async function checkRequests(check: RequestCheck): Promise<RequestCheckReport> {
  const agent = new Agent({ keepAlive: true, maxSockets: check.width });
  try {
    return await run(check, agent);
  } finally {
    agent.destroy();
  }
}

async function run(check: RequestCheck, agent: Agent): Promise<RequestCheckReport> {
  const token = tokenOf(check, 'READONLY');
  const document = await send(check.origin, agent, {
    method: 'GET',
    path: '/v3/openapi.json?aliases=true',
    headers: token,
    body: undefined,
    delivery: 'whole',
  });
  if (document === undefined) throw new Error('the description was not sent');
  const description = readDescription(JSON.parse(document.text) as Schema);
  const random = createRandom(check.seed);
  const pool = createPool(check.stock, random.fork(1));
  const next = createRequests(description.definitions, pool, random.fork(2));
  const judge = createJudge(description);
  const byStatus = new Map<number, number>();
  const good = new Set<string>();
  const failures: string[] = [];
  let aborted = 0;
  const operations = callable(description.operations);
  const paths = [...Map.groupBy(operations, ({ operation }) => operation).values()];
  await inParallel(Array.from({ length: check.requests }), check.width, async (_, index) => {
    if (failures.length >= FAILURES_MAX) return;
    // Every operation has its turn, on any of its paths.
    const operation = random.pick(paths[index % paths.length] ?? operations);
    const request = next(operation);
    const answer = await send(check.origin, agent, {
      method: operation.method,
      path: request.target,
      headers: { ...request.headers, ...tokenOf(check, request.caller, pool) },
      body: request.body,
      delivery: request.delivery,
    });
    if (answer === undefined) {
      aborted += 1;
      return;
    }
    byStatus.set(answer.status, (byStatus.get(answer.status) ?? 0) + 1);
    if (answer.status === 200) good.add(operation.operation);
    const fault = faultOf(() => judge(request, answer));
    if (fault !== undefined) failures.push(`${shown(request)}: ${fault}`);
    else if (answer.status === 200 && /^application\/json\b/.test(String(answer.headers['content-type'])))
      pool.learn(operation.operation, JSON.parse(answer.text));
    check.onAnswer?.(request, answer);
  });
  const answering = operations.filter(({ answers }) => answers.has(200)).map(({ operation }) => operation);
  return {
    requests: check.requests,
    operations: new Set(operations.map(({ operation }) => operation)).size,
    endpoints: operations.length,
    byStatus,
    aborted,
    neverGood: [...new Set(answering)].filter((operation) => !good.has(operation)),
    failures,
  };
}

function faultOf(judge: () => string | undefined): string | undefined {
  try {
    return judge();
  } catch (error) {
    if (error instanceof SyntaxError) return `the answer is not JSON: ${error.message}`;
    throw error;
  }
}

function tokenOf(
  { tokens }: RequestCheck,
  caller: Caller,
  pool?: Pick<Pool, 'session'>,
): Record<string, string> {
  if (caller === 'nobody') return {};
  if (caller === 'stranger') return { 'X-Service-Auth-Token': 'no-such-token' };
  return { 'X-Service-Auth-Token': caller === 'session' ? (pool?.session() ?? '') : tokens[caller] };
}

function shown({ kind, caller, operation, target, body, delivery, headers }: GeneratedRequest): string {
  const text = body === undefined ? '' : ` ${JSON.stringify(body.toString('latin1').slice(0, 300))}`;
  const written = `${delivery} ${JSON.stringify(headers).slice(0, 300)}`;
  return `${kind} ${operation.method} ${target.slice(0, 300)}${text} as ${caller}, ${written} (${operation.operation})`;
}

interface Outgoing {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
  delivery: Delivery;
}

/** A request exactly as given: a client made for people would correct it. Undefined: we went away before an answer. */
function send(origin: string, agent: Agent, outgoing: Outgoing): Promise<ReceivedAnswer | undefined> {
  const { method, path, headers, body, delivery } = outgoing;
  const { hostname, port } = new URL(origin);
  const isLeaving = delivery === 'cut' || delivery === 'left';
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        hostname,
        port,
        method,
        path,
        agent,
        timeout: TIMEOUT_MS,
        maxHeaderSize: ANSWER_HEADER_BYTES,
        headers: {
          ...headers,
          ...(body && delivery !== 'pieces' && { 'Content-Length': String(body.length) }),
          ...(body && delivery === 'pieces' && { 'Transfer-Encoding': 'chunked' }),
        },
      },
      (incoming) =>
        void read(incoming).then(resolve, (error) => (isLeaving ? resolve(undefined) : reject(error))),
    );
    request.on('timeout', () => request.destroy(new Error(`${method} ${path} was not answered in time`)));
    request.on('error', (cause) =>
      isLeaving ? resolve(undefined) : reject(new Error(`${method} ${path} was not answered`, { cause })),
    );
    if (delivery === 'pieces' && body) for (const piece of piecesOf(body)) request.write(piece);
    if (delivery === 'cut') {
      request.write(body?.subarray(0, body.length >> 1) ?? '', () => request.destroy());
      return;
    }
    request.end(delivery === 'pieces' ? undefined : body, () => {
      if (delivery === 'left') request.destroy();
    });
  });
}

const PIECES = 5;

function piecesOf(body: Buffer): Buffer[] {
  const size = Math.max(1, Math.ceil(body.length / PIECES));
  return Array.from({ length: Math.ceil(body.length / size) }, (_, index) =>
    body.subarray(index * size, (index + 1) * size),
  );
}

async function read(incoming: IncomingMessage): Promise<ReceivedAnswer> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    text: Buffer.concat(parts).toString('utf8'),
  };
}
