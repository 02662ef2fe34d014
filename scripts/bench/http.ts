/**
 * What the gateway's HTTP side costs: operations that clients call all the time, beside a bare Node server and
 * an empty Hono application in the same run and with the same flags. Ratios compare machines better than figures do.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import mqtt from 'mqtt';
import type { Clock } from '../../src/platform/clock/index.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import type { ConnectionConfiguration } from '../support/connection-configuration.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  createGatewayClient,
  type GatewayClient,
  inParallel,
  type ProvisionedDevice,
  provisionDevice,
} from '../support/gateway-client.ts';
import {
  createGatewayHome,
  createTokens,
  type GatewayHome,
  hasBundle,
  RUNTIME_FLAGS,
} from '../support/gateway-process.ts';
import { loadHttp, quantile } from '../support/http-load.ts';
import type { FromTarget, TargetKind } from '../support/http-target.ts';
import { ontoBoard } from '../support/small-board.ts';

export interface HttpParameters {
  devices: number;
  connections: number;
  /** Each target has its turn in each round; the median round counts. */
  rounds: number;
  roundMs: number;
}

const LATEST_DEVICES = 10;
const PROVISIONED_AT_ONCE = 8;
const TARGET = join(import.meta.dirname, '..', 'support', 'http-target.ts');

interface Target {
  kind: TargetKind;
  port: number;
  child: ChildProcess;
}

interface Case {
  label: string;
  target: Target;
  request: string;
}

interface Figures {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  allocatedBytes: number;
  /** All threads, the kernel's part included: what others do on the machine changes it little. */
  processorUs: number;
  bodyBytes: number;
}

export const benchmark: Benchmark<HttpParameters> = {
  name: 'http',
  describe:
    'requests per second, latency and allocations beside a bare Node server and an empty Hono application',
  small: { devices: 3, connections: 1, rounds: 1, roundMs: 20 },
  large: { devices: 100, connections: 16, rounds: 5, roundMs: 2_000 },
  isApart: true,
  run: runHttpBenchmark,
};

async function runHttpBenchmark(parameters: HttpParameters, report: Report): Promise<undefined> {
  const clock = createSystemClock();
  // Local commands are the only part of the program that runs here.
  const home = await createGatewayHome(hasBundle() ? 'bundle' : 'source');
  const targets: Target[] = [];
  try {
    for (const kind of ['bare', 'hono', 'gateway'] as const) targets.push(await startTarget(kind, home));
    const cases = await prepareCases(targets, home, clock, parameters);
    const rounds = new Map<Case, Figures[]>(cases.map((each) => [each, []]));
    for (const each of cases) await measure(each, parameters, clock);
    for (let round = 0; round < parameters.rounds; round++)
      for (const each of cases) rounds.get(each)?.push(await measure(each, parameters, clock));
    tellFigures(rounds, report);
  } finally {
    for (const { child } of targets) await endTarget(child);
    home.remove();
    clock.close();
  }
}

async function startTarget(kind: TargetKind, home: GatewayHome): Promise<Target> {
  const child = fork(TARGET, [kind], {
    execArgv: [...RUNTIME_FLAGS],
    env: {
      ...home.environment,
      GATEWAY_HTTP_REQUESTS_PER_SECOND: '1000000',
      GATEWAY_HTTP_REQUEST_BURST: '1000000',
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  ontoBoard(child.pid);
  const message = await nextMessage(child);
  if (message.kind !== 'listening') throw new Error(`${kind} does not listen`);
  return { kind, port: message.port, child };
}

function nextMessage(child: ChildProcess): Promise<FromTarget> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('the server ended'));
    child.once('exit', ended);
    child.once('message', (message: FromTarget) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}

async function endTarget(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

async function spent(child: ChildProcess): Promise<{ allocatedBytes: number; processorUs: number }> {
  const message = nextMessage(child);
  child.send('spent');
  const answer = await message;
  if (answer.kind !== 'spent') throw new Error('the server does not tell what it has spent');
  return answer;
}

async function prepareCases(
  targets: readonly Target[],
  home: GatewayHome,
  clock: Clock,
  parameters: HttpParameters,
): Promise<Case[]> {
  const target = (kind: TargetKind): Target => {
    const found = targets.find((each) => each.kind === kind);
    if (!found) throw new Error(`no target ${kind}`);
    return found;
  };
  const [owner = ''] = await createTokens(home, 'OWNER', 1);
  const [token = ''] = await createTokens(home, 'READONLY', 1);
  const client = createGatewayClient({ baseUrl: home.baseUrl, tokens: [owner], clock });
  const devices = await prepareDevices(client, home, parameters.devices);
  const latest = devices
    .slice(0, LATEST_DEVICES)
    .map(({ slug }) => `devices[${slug}]=battery_soc,battery_power,status`)
    .join('&');
  const request = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: gateway\r\nX-Service-Auth-Token: ${token}\r\nAccept: application/json\r\n\r\n`;
  const gateway = (label: string, path: string): Case => ({
    label,
    target: target('gateway'),
    request: request(path),
  });
  return [
    { label: 'bare Node', target: target('bare'), request: request('/') },
    { label: 'empty Hono', target: target('hono'), request: request('/') },
    gateway('GET /v3/site', '/v3/site'),
    gateway(`${devices.length} devices, expanded`, '/v3/devices?expand=connectivity,properties'),
    gateway(
      `latest telemetry of ${Math.min(LATEST_DEVICES, devices.length)}`,
      `/v3/telemetry/latest?relevance_interval=1h&${latest}`,
    ),
  ];
}

/** Devices of the sample blueprint that have sent properties and telemetry once. */
async function prepareDevices(
  client: GatewayClient,
  home: GatewayHome,
  count: number,
): Promise<ProvisionedDevice[]> {
  const blueprintId = await batteryInverterBlueprint(client);
  const names = Array.from({ length: count }, (_, index) => `Battery ${index + 1}`);
  const devices = await inParallel(names, PROVISIONED_AT_ONCE, async (name) => {
    const device = await provisionDevice(client, name);
    await assignBlueprint(client, device.id, blueprintId);
    await tellOnce(device.config, home.mqttPort);
    return device;
  });
  const { telemetry } = await client.json({
    path: `/devices/${devices[0]?.id}/telemetry?relevance_interval=1h&attribute.in=battery_soc`,
  });
  if (!JSON.stringify(telemetry).includes('"value"'))
    throw new Error(`no telemetry arrived: ${JSON.stringify(telemetry)}`);
  return devices;
}

async function tellOnce(
  { credentials, hardwareId, channelId }: ConnectionConfiguration,
  port: number,
): Promise<void> {
  if (credentials.protocol !== 'MQTT') throw new Error('the device has no password');
  const { username, password } = credentials;
  const device = await mqtt.connectAsync({ host: '127.0.0.1', port, username, password, reconnectPeriod: 0 });
  const topic = `v1/from/${hardwareId}/${channelId}`;
  const properties = { vendor: 'Sample', model: 'BI-5', serial_number: hardwareId.slice(0, 8) };
  await device.publishAsync(`${topic}/v1/register`, JSON.stringify(properties), { qos: 1 });
  const telemetry = { battery_soc: 55.5, battery_power: 1_200, status: 'charging', alerts: [] };
  await device.publishAsync(`${topic}/v1/telemetry`, JSON.stringify(telemetry), { qos: 1 });
  await device.endAsync();
}

async function measure(
  { target, request }: Case,
  { connections, roundMs }: HttpParameters,
  clock: Clock,
): Promise<Figures> {
  const before = await spent(target.child);
  const load = { port: target.port, request, connections, durationMs: roundMs };
  const { requests, perSecond, latenciesMs, bodyBytes } = await loadHttp(load, clock);
  const after = await spent(target.child);
  return {
    perSecond,
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
    allocatedBytes: (after.allocatedBytes - before.allocatedBytes) / requests,
    processorUs: (after.processorUs - before.processorUs) / requests,
    bodyBytes,
  };
}

function tellFigures(rounds: ReadonlyMap<Case, Figures[]>, report: Report): void {
  const figures = [...rounds].map(([each, all]) => [each, medianOf(all)] as const);
  const hono = figures.find(([{ target }]) => target.kind === 'hono')?.[1];
  const bare = figures.find(([{ target }]) => target.kind === 'bare')?.[1];
  if (!hono || !bare) throw new Error('there is nothing to compare with');
  for (const [{ label, target }, figure] of figures) {
    report(label, figure.perSecond, 'requests/s');
    if (target.kind !== 'bare') report(`${label}, part of bare Node`, figure.perSecond / bare.perSecond);
    if (target.kind === 'gateway') {
      report(`${label}, part of empty Hono`, figure.perSecond / hono.perSecond);
      report(`${label}, part of empty Hono by processor time`, hono.processorUs / figure.processorUs);
    }
    report(`${label}, processor time`, figure.processorUs, 'µs');
    report(`${label}, latency median`, figure.p50Ms, 'ms');
    report(`${label}, latency p99`, figure.p99Ms, 'ms');
    report(`${label}, allocated per request`, figure.allocatedBytes / 1_024, 'KiB');
    report(`${label}, body`, figure.bodyBytes, 'bytes');
  }
}

function medianOf(all: readonly Figures[]): Figures {
  const sorted = all.toSorted((a, b) => a.perSecond - b.perSecond);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (!middle) throw new Error('nothing was measured');
  return middle;
}
