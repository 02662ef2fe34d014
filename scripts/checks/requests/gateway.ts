/** A gateway with something in it: a claimed-by-nobody box, a device that answers, one of each kind of thing. */
import type { Clock } from '../../../src/platform/clock/index.ts';
import { startInverterDevice } from '../../simulate/inverter-device.ts';
import { createStatistics } from '../../simulate/statistics.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  createGatewayClient,
  type GatewayClient,
  provisionDevice,
} from '../../support/gateway-client.ts';
import {
  createTokens,
  type GatewayHome,
  type GatewayProcess,
  withGateway,
} from '../../support/gateway-process.ts';
import { createRandom } from '../../support/random.ts';
import type { Stock } from './pool.ts';
import { prepareStock, startReceiver } from './prepare.ts';

export interface StockedGateway {
  home: GatewayHome;
  gateway: GatewayProcess;
  client: GatewayClient;
  tokens: Record<'INSTALLER' | 'OWNER' | 'USER' | 'READONLY', string>;
  stock: Stock;
}

const SETTLE_MS = 2_000;
/** Requests are generated faster than any caller may ask. */
const ENVIRONMENT = {
  GATEWAY_HTTP_REQUESTS_PER_SECOND: '100000',
  GATEWAY_HTTP_REQUEST_BURST: '100000',
  // Callers that went away keep what they asked of a device that never answers until it ends.
  GATEWAY_COMMAND_TIMEOUT_S: '10',
};

/** Starts one, with its device, and ends both after `work`. */
export async function withStockedGateway<Result>(
  { clock, seed, program = 'source' }: { clock: Clock; seed: number; program?: 'source' | 'bundle' },
  work: (stocked: StockedGateway) => Promise<Result>,
): Promise<Result> {
  return withGateway({ clock, program, environment: ENVIRONMENT }, (home, gateway) =>
    withDevice(home, gateway, clock, seed, work),
  );
}

async function withDevice<Result>(
  home: GatewayHome,
  gateway: GatewayProcess,
  clock: Clock,
  seed: number,
  work: (stocked: StockedGateway) => Promise<Result>,
): Promise<Result> {
  const token = async (role: string): Promise<string> => (await createTokens(home, role, 1))[0] ?? '';
  const tokens = {
    INSTALLER: await token('INSTALLER'),
    OWNER: await token('OWNER'),
    USER: await token('USER'),
    READONLY: await token('READONLY'),
  };
  const client = createGatewayClient({ baseUrl: home.baseUrl, tokens: [tokens.INSTALLER], clock });
  const provisioned = await provisionDevice(client, 'Battery inverter');
  await assignBlueprint(client, provisioned.id, await batteryInverterBlueprint(client));
  const device = startInverterDevice({
    config: provisioned.config,
    clock,
    random: createRandom(seed),
    qos: 1,
    intervalMs: 1_000,
    phaseMs: 0,
    timeScale: 1,
    hourOfDay: 12,
    // Below its reserve, so that an alert is raised.
    socPercent: 5,
    mishapsPerDay: 0,
    statistics: createStatistics(),
    say: () => undefined,
  });
  const receiver = await startReceiver();
  try {
    await clock.sleep(SETTLE_MS);
    const dataDir = home.environment['GATEWAY_DATA_DIR'] ?? '';
    const stock = await prepareStock(client, provisioned, dataDir, receiver.url, async (path, body) => {
      const answer = await fetch(`${home.baseUrl}${path}`, {
        headers: { 'X-Service-Auth-Token': tokens.INSTALLER },
        ...(body && { method: 'POST', body }),
      });
      return Buffer.from(await answer.arrayBuffer());
    });
    return await work({ home, gateway, client, tokens, stock });
  } finally {
    await device.stop();
    await receiver.stop();
  }
}
