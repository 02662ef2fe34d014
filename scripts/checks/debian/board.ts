/** A board of the trial: a clean Debian, spoken to as its installer and owner do. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { DebianRoot } from '../../support/debian-root.ts';
import { packageOf } from './versions.ts';

const SIMULATOR = join(import.meta.dirname, '..', '..', 'simulate-device.ts');
const PASSWORD = 'a password of the trial';
const HTTP = 'http://127.0.0.1:8080';
const READY_ROUNDS = 900;
const ROUND_MS = 100;

export class Board {
  readonly debian: DebianRoot;
  token = '';
  #device: ChildProcess | undefined;

  constructor(debian: DebianRoot) {
    this.debian = debian;
  }

  /** As the README says it. @returns what was said */
  install(version: string): string {
    return this.debian.must(
      `DEBIAN_FRONTEND=noninteractive apt-get install -qy --allow-downgrades ${packageOf(version)} </dev/null`,
    );
  }

  /** Version of the gateway that serves, as soon as one does. @throws Error when none comes up */
  async servingVersion(): Promise<string> {
    for (let round = 0; round < READY_ROUNDS; round += 1) {
      const { status, output } = this.debian.request(['-f', `${HTTP}/readyz`]);
      if (status === 0) return (JSON.parse(output) as { version: string }).version;
      await pause(ROUND_MS);
    }
    throw new Error(
      `no gateway serves: ${this.debian.run('journalctl -u energy-gateway -n 20 --no-pager -o cat; energy-gateway-versions status').output}`,
    );
  }

  /** The first person at the console. */
  claim(): void {
    this.token = '';
    const code = this.debian.must('cat /var/lib/energy-gateway/claim-code').trim();
    const claimed = this.#post('/v3/auth/claim', { claim_code: code, password: PASSWORD });
    this.token = String(claimed['token']);
  }

  get(path: string): Record<string, unknown> {
    return this.#call(path);
  }

  #post(path: string, body: object): Record<string, unknown> {
    return this.#call(path, ['-d', JSON.stringify(body)]);
  }

  #call(path: string, more: readonly string[] = []): Record<string, unknown> {
    const token = `X-Service-Auth-Token: ${this.token}`;
    const words = ['--fail-with-body', '-g', '-H', token, `${HTTP}${path}`, ...more];
    const { status, output } = this.debian.request(words);
    if (status !== 0) throw new Error(`${path}: curl ended with ${status}: ${output}`);
    return JSON.parse(output) as Record<string, unknown>;
  }

  /** A simulated inverter on the board's own network; resolves when its values arrive. */
  async connectDevice(): Promise<void> {
    const program = [process.execPath, SIMULATOR, '--gateway', HTTP, '--token', this.token];
    this.#device = spawn('nsenter', ['-t', String(this.debian.pid), '-n', ...program], { stdio: 'ignore' });
    for (let round = 0; round < READY_ROUNDS; round += 1) {
      if (this.newestSampleS() > 0) return;
      await pause(ROUND_MS);
    }
    throw new Error('the device does not come');
  }

  /** Unix second of the newest value of the device; 0 without one. */
  newestSampleS(): number {
    const { devices } = this.get('/v3/devices') as { devices: { id: string; name: string }[] };
    const id = devices.find(({ name }) => name === 'Battery inverter')?.id;
    if (id === undefined) return 0;
    const { telemetry } = this.get(
      `/v3/telemetry/latest?relevance_interval=1d&devices[${id}]=battery_power`,
    ) as {
      telemetry: Record<string, { battery_power?: { timestamp: number } }>;
    };
    return telemetry[id]?.battery_power?.timestamp ?? 0;
  }

  async end(): Promise<void> {
    const device = this.#device;
    if (device && device.exitCode === null) {
      const isOver = once(device, 'exit');
      device.kill();
      await isOver;
    }
    this.debian.end();
  }
}
