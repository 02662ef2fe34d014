/** A small HTTP client of the gateway's API for the programs in scripts/. */
import { messageOf } from '../../src/lib/errors.ts';
import type { Clock } from '../../src/platform/clock/index.ts';
import { type ConnectionConfiguration, connectionConfigurationOf } from './connection-configuration.ts';

/** The gateway answered, and the answer is no. */
export class GatewayRefusal extends Error {
  readonly status: number;
  readonly code: string;
  /** Every problem that the answer lists, in a sentence each. */
  readonly problems: readonly string[];
  constructor(status: number, code: string, message: string, problems: readonly string[] = [message]) {
    super(`${status} ${code}: ${message}`);
    this.name = 'GatewayRefusal';
    this.status = status;
    this.code = code;
    this.problems = problems;
  }
}

/** No answer, or one that was cut short: nobody knows what the gateway did. */
export class GatewayUnreachable extends Error {
  constructor(baseUrl: string, cause: unknown) {
    super(
      `${baseUrl} cannot be reached: ${messageOf(cause instanceof Error ? (cause.cause ?? cause) : cause)}`,
      {
        cause,
      },
    );
    this.name = 'GatewayUnreachable';
  }
}

export interface GatewayRequest {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below `/v3`, with its query. */
  path: string;
  body?: unknown;
  /** Instead of a body in JSON. */
  csv?: string;
  accept?: string;
  signal?: AbortSignal;
}

export interface GatewayClient {
  /** The JSON answer. @throws GatewayRefusal, GatewayUnreachable */
  json(request: GatewayRequest): Promise<Record<string, unknown>>;
  text(request: GatewayRequest): Promise<string>;
}

export interface ProvisionedDevice {
  id: string;
  slug: string;
  config: ConnectionConfiguration;
}

const RATE_LIMITED_ATTEMPTS = 20;
const MAX_PAUSE_S = 30;

/** @param options.tokens used in turn, because requests are limited per token */
export function createGatewayClient(options: {
  baseUrl: string;
  tokens: readonly string[];
  clock: Pick<Clock, 'sleep'>;
}): GatewayClient {
  let turn = 0;
  const send = async (request: GatewayRequest, attempt = 1): Promise<string> => {
    const token = options.tokens[turn++ % options.tokens.length] ?? '';
    const { response, text } = await exchange(options.baseUrl, token, request);
    if (response.status === 429 && attempt < RATE_LIMITED_ATTEMPTS) {
      const pauseS = Number(response.headers.get('Retry-After') ?? '1');
      await options.clock.sleep(1_000 * Math.min(MAX_PAUSE_S, Math.max(1, pauseS || 1)));
      return send(request, attempt + 1);
    }
    if (!response.ok) throw refusalOf(response.status, text);
    return text;
  };
  return {
    text: (request) => send(request),
    json: async (request) => JSON.parse(await send(request)) as Record<string, unknown>,
  };
}

/** @throws GatewayUnreachable */
async function exchange(
  baseUrl: string,
  token: string,
  request: GatewayRequest,
): Promise<{ response: Response; text: string }> {
  try {
    const response = await fetch(new URL(`/v3${request.path}`, baseUrl), {
      method: request.method ?? 'GET',
      headers: {
        'X-Service-Auth-Token': token,
        Accept: request.accept ?? 'application/json',
        ...(request.csv !== undefined && { 'Content-Type': 'text/csv' }),
      },
      body: request.csv ?? (request.body === undefined ? null : JSON.stringify(request.body)),
      ...(request.signal ? { signal: request.signal } : {}),
    });
    return { response, text: await response.text() };
  } catch (error) {
    const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
    if (error instanceof TypeError || isTimeout) throw new GatewayUnreachable(baseUrl, error);
    throw error;
  }
}

/** Makes a standalone device with credentials. @throws GatewayRefusal */
export async function provisionDevice(
  client: GatewayClient,
  name: string,
  protocol: 'MQTT' | 'MQTTS' = 'MQTT',
): Promise<ProvisionedDevice> {
  const answer = await client.json({
    method: 'POST',
    path: '/provisioning/standalone',
    body: { name, protocol },
  });
  const { device_id: id, slug } = answer;
  if (typeof id !== 'string' || typeof slug !== 'string')
    throw new Error('the provisioning answer has no device_id or slug');
  return { id, slug, config: connectionConfigurationOf(answer.config) };
}

/** A standalone device that has this name already, with new credentials; undefined when there is none. */
export async function takeUpDevice(
  client: GatewayClient,
  name: string,
): Promise<ProvisionedDevice | undefined> {
  for (let offset = 0; ;) {
    const { devices } = (await client.json({ path: `/devices?offset=${offset}` })) as {
      devices: { id: string; slug: string; name: string; type: string }[];
    };
    if (devices.length === 0) return undefined;
    const found = devices.find((device) => device.name === name && device.type === 'STANDALONE');
    if (found === undefined) {
      offset += devices.length;
      continue;
    }
    const path = `/devices/${found.id}/generate_config`;
    const { config } = await client.json({ method: 'POST', path, body: { protocol: 'MQTT' } });
    return { id: found.id, slug: found.slug, config: connectionConfigurationOf(config) };
  }
}

/** Uploads the zip of a blueprint; resolves with its id. @throws GatewayRefusal */
export async function uploadBlueprint(
  baseUrl: string,
  token: string,
  zip: Uint8Array<ArrayBuffer>,
): Promise<string> {
  return (await uploadWithWarnings(baseUrl, token, zip)).id;
}

/** The same, with what the gateway says besides. @throws GatewayRefusal */
export async function uploadWithWarnings(
  baseUrl: string,
  token: string,
  zip: Uint8Array<ArrayBuffer>,
): Promise<{ id: string; warnings?: string[] }> {
  const response = await fetch(new URL('/v3/blueprints/upload', baseUrl), {
    method: 'POST',
    headers: { 'X-Service-Auth-Token': token, 'Content-Type': 'application/zip' },
    body: zip,
  });
  const text = await response.text();
  if (!response.ok) throw refusalOf(response.status, text);
  return JSON.parse(text) as { id: string; warnings?: string[] };
}

/** Id of the blueprint known as `enapter/battery-inverter/latest`. @throws GatewayRefusal */
export async function batteryInverterBlueprint(client: GatewayClient): Promise<string> {
  const { blueprint } = await client.json({ path: '/blueprints/enapter/battery-inverter/latest' });
  const id = (blueprint as { id?: unknown } | undefined)?.id;
  if (typeof id !== 'string') throw new Error('the blueprint answer has no id');
  return id;
}

export async function assignBlueprint(
  client: GatewayClient,
  deviceId: string,
  blueprintId: string,
): Promise<void> {
  await client.json({
    method: 'POST',
    path: `/devices/${deviceId}/assign_blueprint`,
    body: { blueprint_id: blueprintId },
  });
}

/** Runs `work` over all items, at most `width` at a time; the first failure ends it. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++)
      results[index] = await work(items[index] as Item, index);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  return results;
}

function refusalOf(status: number, text: string): GatewayRefusal {
  try {
    const answer = JSON.parse(text) as { errors?: { code?: string; message?: string }[] };
    const { errors = [] } = answer;
    const [first] = errors;
    const problems = errors.map(({ message = '' }) => message);
    return new GatewayRefusal(status, first?.code ?? 'unknown', first?.message ?? text, problems);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return new GatewayRefusal(status, 'unknown', text);
  }
}
