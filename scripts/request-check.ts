/**
 * `npm run request-check`: starts a gateway, reads the description that it serves, and sends it generated
 * requests to every operation. Fails when an answer is not one that the description promises.
 */
import { parseArgs } from 'node:util';
import { createSystemClock } from '../src/platform/clock/index.ts';
import type { Clock } from '../src/platform/clock/index.ts';
import { prepareStock } from './request-check/prepare.ts';
import { checkRequests, type RequestCheckReport } from './request-check/run.ts';
import { startInverterDevice } from './simulate/inverter-device.ts';
import { createStatistics } from './simulate/statistics.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  createGatewayClient,
  provisionDevice,
} from './support/gateway-client.ts';
import {
  createGatewayHome,
  createTokens,
  type GatewayHome,
  startGateway,
} from './support/gateway-process.ts';
import { createRandom } from './support/random.ts';

const HELP = `Usage: npm run request-check [-- --requests <n> --seed <n>]

Sends generated requests (fitting, with one fault, hostile) to every operation of the
description that a new gateway serves, and checks every answer against it.

  --requests <n>  how many (default 10000)
  --seed <n>      where randomness begins (default: random, printed)
  --help          this text`;

const WIDTH = 8;
const SETTLE_MS = 2_000;

interface Options {
  requests: number;
  seed: number;
}

async function run({ requests, seed }: Options): Promise<RequestCheckReport> {
  const clock = createSystemClock();
  const home = await createGatewayHome();
  const limits = { GATEWAY_HTTP_REQUESTS_PER_SECOND: '100000', GATEWAY_HTTP_REQUEST_BURST: '100000' };
  const gateway = startGateway({ ...home, environment: { ...home.environment, ...limits } }, clock);
  try {
    await gateway.healthy();
    return await check(home, clock, { requests, seed });
  } finally {
    await gateway.end('SIGTERM');
    home.remove();
    clock.close();
  }
}

async function check(home: GatewayHome, clock: Clock, options: Options): Promise<RequestCheckReport> {
  const token = async (role: string): Promise<string> => (await createTokens(home, role, 1))[0] ?? '';
  const installer = await token('INSTALLER');
  const client = createGatewayClient({ baseUrl: home.baseUrl, tokens: [installer], clock });
  const provisioned = await provisionDevice(client, 'Battery inverter');
  await assignBlueprint(client, provisioned.id, await batteryInverterBlueprint(client));
  const device = startInverterDevice({
    config: provisioned.config,
    clock,
    random: createRandom(options.seed),
    qos: 1,
    intervalMs: 1_000,
    phaseMs: 0,
    timeScale: 1,
    hourOfDay: 12,
    socPercent: 50,
    mishapsPerDay: 0,
    statistics: createStatistics(),
    say: () => undefined,
  });
  try {
    await clock.sleep(SETTLE_MS);
    const dataDir = home.environment['GATEWAY_DATA_DIR'] ?? '';
    const stock = await prepareStock(client, provisioned, dataDir, async (path, body) => {
      const answer = await fetch(`${home.baseUrl}${path}`, {
        headers: { 'X-Service-Auth-Token': installer },
        ...(body && { method: 'POST', body }),
      });
      return Buffer.from(await answer.arrayBuffer());
    });
    return await checkRequests({
      ...options,
      origin: home.baseUrl,
      tokens: {
        INSTALLER: installer,
        OWNER: await token('OWNER'),
        USER: await token('USER'),
        READONLY: await token('READONLY'),
      },
      stock,
      width: WIDTH,
    });
  } finally {
    await device.stop();
  }
}

function print(report: RequestCheckReport, seed: number, tookS: number): void {
  console.log(`seed          ${seed}`);
  console.log(`requests      ${report.requests} in ${tookS.toFixed(1)} s`);
  console.log(`operations    ${report.operations}, on ${report.endpoints} paths`);
  const statuses = [...report.byStatus].toSorted(([a], [b]) => a - b);
  for (const [status, count] of statuses) console.log(`status ${status}    ${count}`);
  console.log(`never good    ${report.neverGood.join(', ') || 'none'}`);
  console.log(`failures      ${report.failures.length}`);
  for (const failure of report.failures) console.log(`  ${failure}`);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '10000' },
      seed: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
  const startedMs = performance.now();
  const report = await run({ requests: Number(values.requests), seed });
  print(report, seed, (performance.now() - startedMs) / 1_000);
  return report.failures.length === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = await main();
