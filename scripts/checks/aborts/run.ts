/** Callers that go away, thousands of them, from every operation at every moment; then what became of the gateway. */
import { readFileSync } from 'node:fs';
import { messageOf } from '../../../src/lib/errors.ts';
import type { Clock } from '../../../src/platform/clock/index.ts';
import { callable, readDescription, type Schema } from '../requests/description.ts';
import { type StockedGateway, withStockedGateway } from '../requests/gateway.ts';
import { createPool } from '../requests/pool.ts';
import { createRequests } from '../requests/requests.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  inParallel,
  provisionDevice,
} from '../../support/gateway-client.ts';
import { openDeviceLink } from '../../support/device-link.ts';
import { createRandom, type Random } from '../../support/random.ts';
import { type Moment, perform, randomAbort, type Way } from './abort.ts';
import { addedTo, complaintsIn, leftovers, settled } from './aftermath.ts';
import { bytesOf, streamPaths, upgradeBytes } from './wire.ts';

export interface AbortCheck {
  count: number;
  seed: number;
  program: 'source' | 'bundle';
  clock: Clock;
  say: (text: string) => void;
}

export interface AbortReport {
  aborts: number;
  operations: number;
  byMoment: ReadonlyMap<`${Moment} ${Way}`, number>;
  problems: readonly string[];
}

/** Callers at once. */
const WIDTH = 32;
/** The rate of new connections is limited by address. */
const ADDRESSES = Array.from({ length: 50 }, (_, index) => `127.0.1.${index + 1}`);
/** So many requests at least before files and connections are counted: what is opened once is open then. */
const WARM_UP = 200;
const PROGRESS_EVERY = 1_000;
const PROBLEMS_MAX = 30;

export function abortCheck(check: AbortCheck): Promise<AbortReport> {
  return withStockedGateway(check, (stocked) => abortAll(check, stocked));
}

/** A way to make one request: its name, and its bytes, new ones each time. */
interface Source {
  operation: string;
  bytes: () => Buffer;
}

async function abortAll(check: AbortCheck, stocked: StockedGateway): Promise<AbortReport> {
  const { count, seed, clock, say } = check;
  const { home, gateway } = stocked;
  const random = createRandom(seed);
  const ports = { http: Number(new URL(home.baseUrl).port), https: home.httpsPort };
  const deaf = await deafDevice(check, stocked);
  try {
    const sources = await sourcesOf(stocked, deaf.id, random.fork(1));
    const byMoment = new Map<`${Moment} ${Way}`, number>();
    const abort = async (index: number): Promise<void> => {
      if (gateway.hasExited) return;
      const own = random.fork(100 + index);
      const source = sources[index % sources.length];
      if (!source) throw new Error('the description has no operations');
      const one = randomAbort(own, source.bytes(), ports, ADDRESSES);
      await perform(one, own, clock);
      const key = `${one.moment} ${one.way}` as const;
      byMoment.set(key, (byMoment.get(key) ?? 0) + 1);
      if (index % PROGRESS_EVERY === PROGRESS_EVERY - 1) say(`${index + 1} callers have left`);
    };
    await inParallel(Array.from({ length: WARM_UP }), WIDTH, (_, index) => abort(index));
    const before = gateway.hasExited ? [] : await settled(stocked, clock);
    await inParallel(Array.from({ length: count }), WIDTH, (_, index) => abort(WARM_UP + index));
    return {
      aborts: count,
      operations: new Set(sources.map(({ operation }) => operation)).size,
      byMoment,
      problems: (await problemsOf(check, stocked, before)).slice(0, PROBLEMS_MAX),
    };
  } finally {
    await deaf.close();
  }
}

/** Every operation on every path, the streams, and a command to a device that never answers. */
async function sourcesOf(
  { home, client, tokens, stock }: StockedGateway,
  deafId: string,
  random: Random,
): Promise<Source[]> {
  const document = (await client.json({ path: '/openapi.json?aliases=true' })) as Schema;
  const { rule } = await client.json({
    method: 'POST',
    path: '/site/rule_engine/rules',
    body: {
      slug: 'watched',
      script: { code: Buffer.from('print(1)').toString('base64'), runtime_version: 'V3' },
    },
  });
  const description = readDescription(document);
  const next = createRequests(description.definitions, createPool(stock, random.fork(1)), random.fork(2));
  const bytes = random.fork(3);
  const operations = callable(description.operations).map((operation) => ({
    operation: operation.operation,
    bytes: () => bytesOf(next(operation), tokens.INSTALLER, bytes),
  }));
  const streams = streamPaths(document, stock, String((rule as { id: unknown }).id)).map(
    ({ operation, path }) => ({ operation, bytes: () => upgradeBytes(path, tokens.READONLY, bytes) }),
  );
  const command = Buffer.from(
    `POST /v3/devices/${deafId}/commands/execute HTTP/1.1\r\nHost: ${new URL(home.baseUrl).host}\r\n` +
      `X-Service-Auth-Token: ${tokens.INSTALLER}\r\nContent-Length: 16\r\n\r\n{"name":"start"}`,
  );
  return [...operations, ...streams, { operation: 'execute_command', bytes: () => command }];
}

/** Connected, takes commands, never answers one. */
async function deafDevice({ clock }: AbortCheck, { client }: StockedGateway) {
  const { id, config } = await provisionDevice(client, 'Deaf');
  await assignBlueprint(client, id, await batteryInverterBlueprint(client));
  const connected = Promise.withResolvers<void>();
  const link = openDeviceLink({
    config,
    clock,
    qos: 1,
    reconnectDelayMs: 1_000,
    onConnected: connected.resolve,
    onLost: () => undefined,
    onCommand: () => undefined,
    onUnreadable: () => undefined,
  });
  await connected.promise;
  return { id, close: () => link.close(0) };
}

async function problemsOf(
  check: AbortCheck,
  stocked: StockedGateway,
  before: readonly string[],
): Promise<string[]> {
  const { home, gateway } = stocked;
  const complaints = (): string[] => complaintsIn(readFileSync(home.logFile, 'utf8'));
  try {
    await gateway.healthy();
    const after = await settled(stocked, check.clock, before.length);
    const added = after.length > before.length ? addedTo(before, after) : [];
    return [
      ...(added.length > 0 ? [`still open: ${added.join(', ')}`] : []),
      ...leftovers(home.environment['GATEWAY_DATA_DIR'] ?? ''),
      ...complaints(),
    ];
  } catch (error) {
    return [messageOf(error), ...complaints()];
  }
}
