/**
 * The wiring: builds every part in order, connects events, and stops in the reverse order. No decision about
 * devices is made here.
 */
import type { Appliance } from './capabilities/appliance/index.ts';
import {
  announce,
  type AnnouncedPorts,
  buildServers,
  createAnnouncement,
  type Servers,
} from './gateway/servers.ts';
import { buildCapabilities, type Listening } from './gateway/capabilities.ts';
import { openCertificates } from './gateway/certificates.ts';
import { provisionAtFirstStart } from './gateway/first-provisioning.ts';
import { type GatewayOptions, openInfrastructure, type StartedHook } from './gateway/infrastructure.ts';
import { listenOn } from './gateway/listen-fault.ts';
import { startPrograms } from './gateway/programs.ts';
import { LIMITS } from './lib/limits.ts';
import { type Clock, within } from './platform/clock/index.ts';
import type { Log } from './platform/log/index.ts';
import { type FolderLock, type KilledHolder, lockFolder } from './platform/sqlite/index.ts';

/** Facts for a person once everything serves. */
export interface Started extends AnnouncedPorts {
  /** One-time code of a box that nobody has claimed, and its file. */
  claim: { code: string; file: string } | undefined;
}

/** Part of the total stop time for running requests, and for the disk to store their results. */
const HTTP_STOP_MS = 2_000;

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  /** In the order of starting. */
  readonly #running: { name: string; stop: () => Promise<void> | void }[] = [];
  readonly #started: StartedHook = (name, stop) => void this.#running.push({ name, stop });
  #appliance: Appliance | undefined;
  #servers: Servers | undefined;
  #lock: FolderLock | undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#log = options.log.child({ component: 'gateway' });
  }

  /** When it resolves everything serves; when it rejects all started parts have been stopped. */
  async start(): Promise<Started> {
    const { dataDir } = this.#options.config;
    this.#lock = await lockFolder({
      dataDir,
      clock: this.#clock,
      log: this.#log,
      waitMs: LIMITS.start.lockWaitMs,
    });
    try {
      const result = await this.#startOrStop(this.#lock.killed);
      this.#lock.serves(result.httpPort);
      return result;
    } catch (error) {
      this.#releaseFolder();
      throw error;
    }
  }

  /** Ends every started part, the last one first. */
  async stop(): Promise<void> {
    await this.#stopAll();
    this.#releaseFolder();
  }

  /** True while everything serves; the history may be degraded. */
  isHealthy(): boolean {
    return this.#appliance?.isServing() ?? false;
  }

  /** Answers one request without a socket. */
  async fetch(request: Request): Promise<Response> {
    if (!this.#servers) throw new Error('the gateway has not been started');
    return this.#servers.http.fetch(request);
  }

  /** All operations, as data; empty before the start. */
  operations(): Pick<Servers, 'routes' | 'streams'> {
    return { routes: this.#servers?.routes ?? [], streams: this.#servers?.streams ?? [] };
  }

  async #timed<Result>(step: string, run: () => Promise<Result> | Result): Promise<Result> {
    const startedMs = this.#clock.monotonicMs();
    const result = await run();
    this.#log.info('started', { step, duration_ms: Math.round(this.#clock.monotonicMs() - startedMs) });
    return result;
  }

  async #startAll(killed: KilledHolder | undefined): Promise<Started> {
    const options = this.#options;
    const data = await this.#timed('databases', () => openInfrastructure(options, this.#started, killed));
    const mdns = createAnnouncement(options);
    const tls = await this.#timed('certificates', () => openCertificates(options, mdns, this.#started));
    const infrastructure = { ...data, mdns, tls };
    const listening: Listening = {
      httpPort: options.config.httpPort,
      httpsPort: undefined,
      mqttPort: undefined,
      mqttsPort: undefined,
      broker: undefined,
      restarts: 0,
      missingPrograms: () => [],
    };
    const parts = await this.#timed('capabilities', () =>
      buildCapabilities(infrastructure, listening, this.#started),
    );
    this.#appliance = parts.appliance;
    this.#servers = await this.#timed('servers', () => buildServers(infrastructure, parts));
    const { http, broker } = this.#servers;
    listening.broker = broker;
    this.#started('http', () => http.stop(HTTP_STOP_MS));
    const { config } = options;
    const { port: httpPort, httpsPort } = await this.#timed('http', () =>
      listenOn(
        {
          variable: 'GATEWAY_HTTP_HOST',
          host: config.httpHost,
          ports: { GATEWAY_HTTP_PORT: config.httpPort, GATEWAY_HTTPS_PORT: config.httpsPort },
        },
        () => http.start(),
      ),
    );
    listening.httpPort = httpPort;
    listening.httpsPort = httpsPort;
    // Stopped after the broker, through which devices may still answer, and before HTTP, whose callers wait for the end.
    this.#started('commands under way', () => within(this.#clock, HTTP_STOP_MS, parts.commands.endAll()));
    this.#started('mqtt', () => broker.stop());
    const { port: mqttPort, tlsPort: mqttsPort } = await this.#timed('mqtt', () =>
      listenOn(
        {
          variable: 'GATEWAY_MQTT_HOST',
          host: config.mqttHost,
          ports: { GATEWAY_MQTT_PORT: config.mqttPort, GATEWAY_MQTTS_PORT: config.mqttsPort },
        },
        () => broker.start(),
      ),
    );
    listening.mqttPort = mqttPort;
    listening.mqttsPort = mqttsPort;
    const ports = { httpPort, httpsPort, mqttPort, mqttsPort };
    if (mdns) announce(mdns, config, ports, this.#started);
    await this.#timed('programs', () => startPrograms(infrastructure, parts, listening, this.#started));
    await provisionAtFirstStart(options, { ...parts, fetch: (request) => http.fetch(request) });
    if (options.tendsState !== false) data.stateUpkeep.start();
    parts.appliance.start();
    this.#started('appliance', () => parts.appliance.stop());
    const code = parts.auth.claim.code();
    const claim = code === undefined ? undefined : { code, file: parts.auth.claim.file };
    return { ...ports, claim };
  }

  async #stopAll(): Promise<void> {
    for (let part = this.#running.pop(); part; part = this.#running.pop()) {
      const startedMs = this.#clock.monotonicMs();
      try {
        await part.stop();
        this.#log.info('stopped', {
          step: part.name,
          duration_ms: Math.round(this.#clock.monotonicMs() - startedMs),
        });
      } catch (error) {
        this.#log.error('part failed to stop', { step: part.name, error });
      }
    }
  }

  async #startOrStop(killed: KilledHolder | undefined): Promise<Started> {
    try {
      return await this.#startAll(killed);
    } catch (error) {
      await this.#stopAll();
      throw error;
    }
  }

  #releaseFolder(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }
}
