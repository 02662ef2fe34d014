/**
 * The wiring: builds every part in order, connects events, and stops in the reverse order. No decision about
 * devices is made here.
 */
import type { Appliance } from './capabilities/appliance/index.ts';
import { announce, createAnnouncement } from './gateway/announcement.ts';
import { buildCapabilities, type Listening } from './gateway/capabilities.ts';
import { openCertificates } from './gateway/certificates.ts';
import { type GatewayOptions, openGround, type StartedHook } from './gateway/ground.ts';
import { startPrograms } from './gateway/programs.ts';
import { buildServers, type Servers } from './gateway/servers.ts';
import { LIMITS } from './lib/limits.ts';
import { type FolderLock, lockFolder } from './platform/sqlite/index.ts';

export type { GatewayOptions } from './gateway/ground.ts';

/** What a person wants to know once everything serves. */
export interface Started {
  httpPort: number;
  /** Undefined: HTTPS is off. */
  httpsPort: number | undefined;
  mqttPort: number;
  /** Undefined: MQTT over TLS is off. */
  mqttsPort: number | undefined;
  /** One-time code of a box that belongs to nobody yet, and the file it stands in. */
  claim: { code: string; file: string } | undefined;
}

export interface Gateway {
  /** Everything serves when it resolves; when it rejects, what was started has been stopped. */
  start(): Promise<Started>;
  /** Ends every started part, the last one first. */
  stop(): Promise<void>;
  /** True while everything serves; the history may be degraded. */
  isHealthy(): boolean;
  /** Answers one request without a socket. */
  fetch(request: Request): Promise<Response>;
  /** All operations, as data; empty before the start. */
  operations(): Pick<Servers, 'routes' | 'streams'>;
}

/** Part of the total stop time that running requests get. */
const HTTP_STOP_MS = 2_000;

export function createGateway(options: GatewayOptions): Gateway {
  const { clock } = options;
  const log = options.log.child({ component: 'gateway' });
  /** In the order of starting. */
  const running: { name: string; stop: () => Promise<void> | void }[] = [];
  let appliance: Appliance | undefined;
  let servers: Servers | undefined;
  let lock: FolderLock | undefined;

  const started: StartedHook = (name, stop): void => void running.push({ name, stop });

  async function timed<Result>(step: string, run: () => Promise<Result> | Result): Promise<Result> {
    const startedMs = clock.monotonicMs();
    const result = await run();
    log.info('started', { step, duration_ms: Math.round(clock.monotonicMs() - startedMs) });
    return result;
  }

  async function startAll(): Promise<Started> {
    const data = await timed('databases', () => openGround(options, started));
    const mdns = createAnnouncement(options);
    const tls = await timed('certificates', () => openCertificates(options, mdns, started));
    const ground = { ...data, mdns, tls };
    const listening: Listening = {
      httpPort: options.config.httpPort,
      mqttPort: undefined,
      mqttsPort: undefined,
      broker: undefined,
      restarts: 0,
      missingPrograms: () => [],
    };
    const parts = await timed('capabilities', () => buildCapabilities(ground, listening, started));
    appliance = parts.appliance;
    servers = await timed('servers', () => buildServers(ground, parts));
    const { http, broker } = servers;
    listening.broker = broker;
    started('http', () => http.stop(HTTP_STOP_MS));
    const { port: httpPort, httpsPort } = await timed('http', () => http.start());
    listening.httpPort = httpPort;
    started('mqtt', () => broker.stop());
    const { port: mqttPort, tlsPort: mqttsPort } = await timed('mqtt', () => broker.start());
    listening.mqttPort = mqttPort;
    listening.mqttsPort = mqttsPort;
    if (mdns) announce(mdns, options.config, { httpPort, httpsPort, mqttPort, mqttsPort }, started);
    await timed('programs', () => startPrograms(ground, parts, listening, started));
    parts.appliance.start();
    started('appliance', () => parts.appliance.stop());
    const code = parts.auth.claimCode();
    const claim = code === undefined ? undefined : { code, file: parts.auth.claimCodeFile };
    return { httpPort, httpsPort, mqttPort, mqttsPort, claim };
  }

  async function stopAll(): Promise<void> {
    for (let part = running.pop(); part; part = running.pop()) {
      const startedMs = clock.monotonicMs();
      try {
        await part.stop();
        log.info('stopped', { step: part.name, duration_ms: Math.round(clock.monotonicMs() - startedMs) });
      } catch (error) {
        log.error('part failed to stop', { step: part.name, error });
      }
    }
  }

  async function startOrStop(): Promise<Started> {
    try {
      return await startAll();
    } catch (error) {
      await stopAll();
      throw error;
    }
  }

  function releaseFolder(): void {
    lock?.release();
    lock = undefined;
  }

  return {
    start: async () => {
      const { dataDir } = options.config;
      lock = await lockFolder({ dataDir, clock, log, waitMs: LIMITS.start.lockWaitMs });
      try {
        const result = await startOrStop();
        lock.tell(`HTTP on port ${result.httpPort}`);
        return result;
      } catch (error) {
        releaseFolder();
        throw error;
      }
    },
    stop: async () => {
      await stopAll();
      releaseFolder();
    },
    isHealthy: () => appliance?.isServing() ?? false,
    fetch: async (request) => {
      if (!servers) throw new Error('the gateway has not been started');
      return servers.http.fetch(request);
    },
    operations: () => ({ routes: servers?.routes ?? [], streams: servers?.streams ?? [] }),
  };
}
