/** The whole gateway in this process, on simulated time: started, stopped, killed, spoken to. */
import {
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Gateway, type Started } from '../../../src/gateway.ts';
import { loadConfig } from '../../../src/platform/config/index.ts';
import { createLog } from '../../../src/platform/log/index.ts';
import { copyData } from '../faults/disk.ts';
import { type GatewayClient, GatewayRefusal, GatewayUnreachable } from '../../support/gateway-client.ts';
import { turn, type SimulationClock } from './clock.ts';
import type { SimulatedDisk } from './disk.ts';

export interface LogLine {
  level: string;
  message: string;
  [field: string]: unknown;
}

/** In memory where there is such a folder: a year is written to it. */
const BASE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const STEP_MS = 20;
const TURNS_PER_STEP = 4;
/** What takes longer waits for a thread or the disk: real time has to pass then. */
const TURNS_AT_ONCE = 200;
const COPY_ATTEMPTS = 200;
/** Written under another name and never changed afterwards. */
const IS_FINISHED = /\/backups\/state-[^/]*\.db$/;
const PASSWORD = 'a password of the simulation';

export class SimulatedGateway {
  readonly #clock: SimulationClock;
  readonly #disk: SimulatedDisk;
  #gateway: Gateway | undefined;
  #ports: Started | undefined;
  #dataDir = mkdtempSync(join(BASE, 'gateway-year-'));
  #token = '';
  /** Since the last time they were taken. */
  #lines: LogLine[] = [];

  constructor(clock: SimulationClock, disk: SimulatedDisk) {
    this.#clock = clock;
    this.#disk = disk;
  }

  get mqttPort(): number {
    return this.#ports?.mqttPort ?? 0;
  }

  get dataDir(): string {
    return this.#dataDir;
  }

  /** Lines of level warn and above since the last call. */
  takeLines(): LogLine[] {
    return this.#lines.splice(0);
  }

  /** Waits while the clock goes on by small steps: for answers that wait for timers. */
  async settled<Result>(promise: Promise<Result>): Promise<Result> {
    const state = { isSettled: false };
    void Promise.allSettled([promise]).then(() => (state.isSettled = true));
    for (let turns = 1; !state.isSettled; turns++) {
      if (turns > TURNS_AT_ONCE) await pause(1);
      else await turn();
      if (turns % TURNS_PER_STEP === 0 && !state.isSettled) await this.#clock.advance(STEP_MS);
    }
    return promise;
  }

  async start(): Promise<void> {
    const clock = this.#clock;
    const log = createLog({ level: 'warn', format: 'json', clock, write: (text) => this.#note(text) });
    const config = loadConfig({ environment: environmentOf(this.#dataDir) });
    this.#gateway = new Gateway({
      config,
      clock,
      log,
      version: '0.0.0-year',
      syncFile: this.#disk.syncFile,
    });
    this.#ports = await this.settled(this.#gateway.start());
    const { claim } = this.#ports;
    if (claim) await this.#claim(claim.code);
  }

  async stop(): Promise<void> {
    if (this.#gateway) await this.settled(this.#gateway.stop());
    this.#gateway = undefined;
  }

  /** The process is gone at this moment: what is written by now is there, nothing else. `spoil` may damage it. */
  async kill(spoil: (dataDir: string) => void = () => undefined): Promise<void> {
    const left = this.#dataDir;
    const copy = await this.#copyOfNow();
    await this.stop();
    rmSync(left, { recursive: true, force: true });
    this.#dataDir = copy;
    spoil(copy);
  }

  /** Threads of the gateway write beside this one: a copy counts when nothing changed meanwhile. */
  async #copyOfNow(): Promise<string> {
    for (let attempt = 1; attempt <= COPY_ATTEMPTS; attempt++) {
      const copy = mkdtempSync(join(BASE, 'gateway-year-'));
      const before = stampsOf(this.#dataDir);
      copyData(this.#dataDir, copy, copyFile);
      if (stampsOf(this.#dataDir) === before) return copy;
      rmSync(copy, { recursive: true, force: true });
      await pause(attempt);
    }
    throw new Error('the data did not stand still for a copy');
  }

  #note(text: string): void {
    this.#lines.push(JSON.parse(text) as LogLine);
  }

  async #claim(code: string): Promise<void> {
    const post = (path: string, body: unknown) => this.client.json({ method: 'POST', path, body });
    const session = await post('/auth/claim', { claim_code: code, password: PASSWORD });
    this.#token = String(session['token']);
    const made = await post('/auth/tokens', { name: 'simulation', role: 'INSTALLER' });
    this.#token = String(made['token']);
  }

  /** With the rights of an installer, without a socket. */
  readonly client: GatewayClient = {
    json: async (request) => JSON.parse(await this.client.text(request)) as Record<string, unknown>,
    text: async ({ method = 'GET', path, body, accept = 'application/json' }) => {
      const answer = await this.#answer(path, {
        method,
        headers: { 'X-Service-Auth-Token': this.#token, Accept: accept },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await this.settled(answer.text());
      if (answer.ok) return text;
      const [first] = (JSON.parse(text) as { errors: { code: string; message: string }[] }).errors;
      throw new GatewayRefusal(answer.status, first?.code ?? '', first?.message ?? text);
    },
  };

  /** Status of a call with this token. */
  async statusWith(token: string): Promise<number> {
    return (await this.#answer('/site', { headers: { 'X-Service-Auth-Token': token } })).status;
  }

  /** Status of a login as the installer. */
  async login(): Promise<number> {
    const body = JSON.stringify({ name: 'installer', password: PASSWORD });
    return (await this.#answer('/auth/login', { method: 'POST', body })).status;
  }

  async #answer(path: string, init: RequestInit): Promise<Response> {
    if (!this.#gateway) throw new GatewayUnreachable('the simulation', new Error('it is off'));
    return this.settled(this.#gateway.fetch(new Request(new URL(`/v3${path}`, 'http://gateway.test'), init)));
  }

  remove(): void {
    rmSync(this.#dataDir, { recursive: true, force: true });
  }
}

/**
 * Most of the bytes are in files that never change: those get a second name. The others are read to their end, because
 * the copy of the runtime never ends when a file becomes shorter meanwhile.
 */
function copyFile(from: string, to: string): void {
  if (IS_FINISHED.test(from)) linkSync(from, to);
  else writeFileSync(to, readFileSync(from));
}

function stampsOf(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.endsWith('-shm'))
    .map((name) => {
      const stat = statSync(join(folder, name), { bigint: true, throwIfNoEntry: false });
      return `${name} ${stat?.size} ${stat?.mtimeNs}`;
    })
    .join('\n');
}

function environmentOf(dataDir: string): Record<string, string> {
  return {
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_HTTP_HOST: '127.0.0.1',
    GATEWAY_HTTP_PORT: '0',
    GATEWAY_MQTT_HOST: '127.0.0.1',
    GATEWAY_MQTT_PORT: '0',
    // Keys are made once and renewed by age; that is tested by itself.
    GATEWAY_HTTPS: 'false',
    GATEWAY_MQTTS: 'false',
    GATEWAY_MDNS: 'false',
    // Child programs keep real time.
    GATEWAY_BUILT_IN_MODULE: 'false',
    GATEWAY_RULE_SANDBOX: 'false',
    // Simulated time passes so slowly while something is done that rates would be those of one moment.
    GATEWAY_HTTP_REQUESTS_PER_SECOND: '100000',
    GATEWAY_HTTP_REQUEST_BURST: '100000',
    GATEWAY_SITE_NAME: 'Depot',
    GATEWAY_SITE_TIMEZONE: 'Europe/Berlin',
    GATEWAY_TELEMETRY_OPEN_SAMPLES: '10000',
  };
}
