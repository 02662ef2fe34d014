/** One of many boxes: a gateway with little, some devices of workload W, and the one engine as its target. */
import type { Clock } from '../../../src/platform/clock/index.ts';
import { parseCsv } from '../../../src/lib/csv.ts';
import { controlFlags, writeControl } from '../faults/control.ts';
import { createGatewayClient, type GatewayClient, uploadBlueprint } from '../../support/gateway-client.ts';
import {
  createGatewayHome,
  createTokens,
  type GatewayHome,
  type GatewayProcess,
  type Program,
  anonymousBytes,
  startGateway,
} from '../../support/gateway-process.ts';
import { provisionWorkload } from '../../support/workload-blueprints.ts';
import { createWorkload, type Workload } from '../../support/workload.ts';
import { SendingDevice } from '../targets/devices.ts';

const ENVIRONMENT = {
  GATEWAY_MDNS: 'false',
  GATEWAY_BUILT_IN_MODULE: 'false',
  GATEWAY_RULE_SANDBOX: 'false',
  GATEWAY_HTTPS: 'false',
  GATEWAY_MQTTS: 'false',
  GATEWAY_TELEMETRY_OPEN_SAMPLES: '10000',
};
const SECOND_MS = 1_000;

interface BoxOptions {
  site: string;
  index: number;
  devices: number;
  engine: string;
  /** Its clock is so far from the right one. */
  clockOffsetMs: number;
  program: Program;
  clock: Clock;
}

export class FleetBox {
  readonly site: string;
  readonly #options: BoxOptions;
  readonly #home: GatewayHome;
  readonly #gateway: GatewayProcess;
  readonly #workload: Workload;
  #client: GatewayClient | undefined;
  #devices: SendingDevice[] = [];
  #stopSending: () => void = () => undefined;

  private constructor(options: BoxOptions, home: GatewayHome) {
    this.site = options.site;
    this.#options = options;
    const own = { ...ENVIRONMENT, GATEWAY_SITE_NAME: options.site };
    this.#home = { ...home, environment: { ...home.environment, ...own } };
    const control = `${home.folder}/control.json`;
    writeControl(control, { clockOffsetMs: options.clockOffsetMs, syncDelayMs: 0, plants: [] });
    const flags = options.clockOffsetMs === 0 ? [] : controlFlags(control);
    this.#gateway = startGateway(this.#home, options.clock, flags);
    this.#workload = createWorkload({ seed: options.index, devices: options.devices });
  }

  static async open(options: BoxOptions): Promise<FleetBox> {
    const box = new FleetBox(options, await createGatewayHome(options.program));
    try {
      await box.#prepare();
      return box;
    } catch (error) {
      await box.close();
      throw error;
    }
  }

  async #prepare(): Promise<void> {
    const { clock, engine } = this.#options;
    await this.#gateway.healthy();
    const tokens = await createTokens(this.#home, 'OWNER', 1);
    const { baseUrl } = this.#home;
    this.#client = createGatewayClient({ baseUrl, tokens, clock });
    const body = { name: 'fleet', kind: 'INFLUXDB', influxdb: { url: `${engine}/write` } };
    await this.client.json({ method: 'POST', path: '/targets', body });
    const upload = (zip: Uint8Array<ArrayBuffer>): Promise<string> =>
      uploadBlueprint(baseUrl, tokens[0] ?? '', zip);
    const logins = await provisionWorkload(this.client, this.#workload, upload);
    this.#devices = logins.map(({ device }) => new SendingDevice(device.config, clock));
    const timer = clock.setRepeating(SECOND_MS, () => this.#send());
    this.#stopSending = () => timer.cancel();
  }

  get client(): GatewayClient {
    if (!this.#client) throw new Error('nobody has a token yet');
    return this.#client;
  }

  get anonymousBytes(): number {
    return anonymousBytes(this.#gateway.pid);
  }

  get areDevicesConnected(): boolean {
    return this.#devices.every(({ isConnected }) => isConnected);
  }

  /** The newest sample of the gateway's own device up to then, as it keeps it itself; undefined: none for minutes. */
  async own(attribute: string, upToS: number): Promise<{ atS: number; value: number } | undefined> {
    const offsetS = Math.round(this.#options.clockOffsetMs / SECOND_MS);
    const csv = await this.client.text({
      method: 'POST',
      path: '/telemetry/query_timeseries',
      accept: 'text/csv',
      body: {
        from: upToS + Math.min(0, offsetS) - 2 * LOOK_BACK_S,
        to: upToS + 1,
        granularity: '1s',
        aggregation: 'last',
        telemetry: [{ device: { type: 'GATEWAY' }, attribute }],
      },
    });
    const [at, value] = parseCsv(csv).slice(1).at(-1) ?? [];
    return at === undefined ? undefined : { atS: Number(at), value: Number(value) };
  }

  /** It has a sample of later: none of before will come any more. */
  async hasMeasuredSince(atS: number): Promise<boolean> {
    const newest = await this.own('uptime_s', atS + LOOK_BACK_S);
    return newest !== undefined && newest.atS > atS + this.#options.clockOffsetMs / SECOND_MS;
  }

  async target(): Promise<{ state: string; sent_samples: number; samples_per_second: number }> {
    const { targets } = (await this.client.json({ path: '/targets' })) as {
      targets: { status: { state: string; sent_samples: number; samples_per_second: number } }[];
    };
    const [first] = targets;
    if (!first) throw new Error('the box has no target');
    return first.status;
  }

  /** No word more comes of it. */
  async kill(): Promise<void> {
    this.#stopSending();
    await Promise.all(this.#devices.map((device) => device.close()));
    await this.#gateway.end('SIGKILL');
  }

  async close(): Promise<void> {
    await this.kill();
    this.#home.remove();
  }

  #send(): void {
    const nowS = Math.floor((this.#options.clock.wallMs() + this.#options.clockOffsetMs) / SECOND_MS);
    this.#workload.tick();
    for (const { index, first, signals } of this.#workload.devices) {
      const values = signals.map(({ name }, offset) => [name, this.#workload.value(first + offset)]);
      this.#devices[index]?.send(nowS, Object.fromEntries(values) as Record<string, unknown>);
    }
  }
}

const LOOK_BACK_S = 300;
