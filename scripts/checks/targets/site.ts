/** The gateway of a check with workload W before it and targets behind it, on a disk of its own where there can be one. */
import { join } from 'node:path';
import type { Clock } from '../../../src/platform/clock/index.ts';
import { commandOf, manifestOf } from '../world/world.ts';
import { createDataDisk, type DataDisk, missingForDisks } from '../faults/disk.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  createGatewayClient,
  type GatewayClient,
  provisionDevice,
  type ProvisionedDevice,
  uploadBlueprint,
} from '../../support/gateway-client.ts';
import {
  createGatewayHome,
  createTokens,
  type GatewayHome,
  type GatewayProcess,
  type Program,
  startGateway,
} from '../../support/gateway-process.ts';
import type { Random } from '../../support/random.ts';
import { provisionWorkload } from '../../support/workload-blueprints.ts';
import type { Workload } from '../../support/workload.ts';
import type { Server } from './programs.ts';

export const SITE_NAME = 'Depot';
const TOKENS = 2;
/** So few that parts are sealed and become blocks of days while targets are away. */
const OPEN_SAMPLES = 100_000;
const ENVIRONMENT = {
  GATEWAY_SITE_NAME: SITE_NAME,
  GATEWAY_MDNS: 'false',
  GATEWAY_BUILT_IN_MODULE: 'false',
  GATEWAY_RULE_SANDBOX: 'false',
  GATEWAY_MQTT_MESSAGES_PER_SECOND: '1000000',
  GATEWAY_MQTT_MESSAGE_BURST: '1000000',
  GATEWAY_HTTP_REQUESTS_PER_SECOND: '10000',
  GATEWAY_TELEMETRY_OPEN_SAMPLES: String(OPEN_SAMPLES),
};

export interface TargetOnWire {
  id: string;
  name: string;
  status: {
    state: string;
    lag_samples: number;
    sent_samples: number;
    lost_samples: number;
    refused_samples: number;
    last_error?: { message: string };
    commands?: { connected: boolean; executed: number };
  };
}

interface SiteOptions {
  program: Program;
  clock: Clock;
  random: Random;
  workload: Workload;
  /** Order in which missed samples arrive. */
  isNewestFirst: boolean;
}

export class Site {
  readonly #options: SiteOptions;
  readonly #home: GatewayHome;
  readonly #disk: DataDisk | undefined;
  #gateway: GatewayProcess;
  #client: GatewayClient | undefined;
  /** In the order of the workload. */
  devices: ProvisionedDevice[] = [];
  tornSectors = 0;

  private constructor(options: SiteOptions, home: GatewayHome) {
    this.#options = options;
    this.#home = { ...home, environment: { ...home.environment, ...ENVIRONMENT } };
    if (missingForDisks().length === 0) this.#disk = createDataDisk(home.folder, join(home.folder, 'data'));
    this.#gateway = startGateway(this.#home, options.clock);
  }

  static async open(options: SiteOptions): Promise<Site> {
    const site = new Site(options, await createGatewayHome(options.program));
    try {
      await site.#gateway.healthy();
      const tokens = await createTokens(site.#home, 'INSTALLER', TOKENS);
      const { baseUrl } = site.#home;
      site.#client = createGatewayClient({ baseUrl, tokens, clock: options.clock });
      const logins = await provisionWorkload(site.client, options.workload, (zip) =>
        uploadBlueprint(baseUrl, tokens[0] ?? '', zip),
      );
      site.devices = logins.map(({ device }) => device);
      return site;
    } catch (error) {
      await site.close();
      throw error;
    }
  }

  get client(): GatewayClient {
    if (!this.#client) throw new Error('nobody has a token yet');
    return this.#client;
  }

  get folder(): string {
    return this.#home.folder;
  }

  get hasDisk(): boolean {
    return this.#disk !== undefined;
  }

  /** A device that takes commands, and the one that it takes. */
  async provisionCommanded(): Promise<{ device: ProvisionedDevice; name: string; tagArgument: string }> {
    const device = await provisionDevice(this.client, 'Commanded');
    await assignBlueprint(this.client, device.id, await batteryInverterBlueprint(this.client));
    const { commandName: name, tagArgument } = commandOf(await manifestOf(this.client, device.id));
    return { device, name, tagArgument };
  }

  async addTarget(server: Server, commanded: string): Promise<void> {
    const { name } = server.recipe;
    const url = `${server.origin}${name === 'InfluxDB' ? '/write?db=site' : '/write'}`;
    const commands = { devices: [commanded], level: 'OWNER', per_minute: 600 };
    const selection = { backlog_order: this.#options.isNewestFirst ? 'NEWEST_FIRST' : 'OLDEST_FIRST' };
    await this.client.json({
      method: 'POST',
      path: '/targets',
      body:
        name === 'Mosquitto'
          ? { name, selection, kind: 'MQTT', mqtt: { url: `mqtt://127.0.0.1:${server.port}`, commands } }
          : { name, selection, kind: 'INFLUXDB', influxdb: { url } },
    });
  }

  async targets(): Promise<TargetOnWire[]> {
    const { targets } = await this.client.json({ path: '/targets' });
    return targets as TargetOnWire[];
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.#gateway.end(signal);
    await this.#again();
  }

  async cutPower(): Promise<void> {
    if (!this.#disk) throw new Error('there is no disk of its own here');
    process.kill(this.#gateway.pid, 'SIGSTOP');
    const { apply, tornSectors } = this.#disk.cutPower(this.#options.random);
    this.tornSectors += tornSectors;
    await this.#gateway.end('SIGKILL');
    apply();
    this.#disk.settle();
    await this.#again();
  }

  async close(): Promise<void> {
    await this.#gateway.end('SIGKILL');
    this.#disk?.remove();
    this.#home.remove();
  }

  async #again(): Promise<void> {
    this.#gateway = startGateway(this.#home, this.#options.clock);
    await this.#gateway.healthy();
  }
}
