/** The servers for people and programs (HTTP) and for devices (MQTT). */
import type { Auth } from '../capabilities/auth/index.ts';
import { resolveSiteId } from '../capabilities/site/index.ts';
import { isAnyAddress } from '../lib/address.ts';
import type { Clock } from '../platform/clock/index.ts';
import type { Config } from '../platform/config/index.ts';
import { packagePath } from '../platform/files/index.ts';
import { networkNames } from '../platform/host/index.ts';
import { Http, type Principal } from '../platform/http/index.ts';
import { type AnnouncedService, Mdns } from '../platform/mdns/index.ts';
import { MqttBroker, type MqttHooks } from '../platform/mqtt/index.ts';
import { namedTargets, refusalRecorder } from './audit-trail.ts';
import type { Capabilities } from './capabilities.ts';
import type { GatewayOptions, Infrastructure, StartedHook } from './infrastructure.ts';
import { routeGroups } from './route-groups.ts';

const LOOPBACK = '127.0.0.1';

export type Servers = Awaited<ReturnType<typeof buildServers>>;

/** Builds the broker and the HTTP server; neither listens yet. */
export async function buildServers(infrastructure: Infrastructure, parts: Capabilities) {
  const { options, metrics, tls, mdns } = infrastructure;
  const { config, clock, log } = options;
  const broker = await MqttBroker.create({
    clock,
    log: log.child({ component: 'mqtt' }),
    metrics,
    host: config.mqttHost,
    port: config.mqttPort,
    hooks: {
      ...parts.connectivity.hooks,
      onAwaited: () => {
        for (const commits of [infrastructure.stateCommits, infrastructure.historyCommits, parts.telemetry])
          commits.expedite();
      },
      onRefused: refusals(parts, clock),
    },
    tls:
      tls && config.mqtts
        ? { host: config.mqttHost, port: config.mqttsPort, secureContext: tls.deviceContext() }
        : undefined,
    limits: { messagesPerSecond: config.mqttMessagesPerSecond, messageBurst: config.mqttMessageBurst },
  });
  parts.connectivity.broker = broker;
  const groups = routeGroups(parts, options, metrics, tls);
  const routes = groups.flatMap((group) => group.routes);
  const streams = groups.flatMap((group) => group.streams ?? []);
  const named = namedTargets(parts);
  const http = new Http({
    host: config.http ? config.httpHost : LOOPBACK,
    port: config.httpPort,
    https:
      tls && config.https
        ? { host: config.httpHost, port: config.httpsPort, secureContext: tls.serverContext() }
        : undefined,
    clock,
    log: log.child({ component: 'http' }),
    metrics,
    authenticate: (token) => parts.auth.tokens.authenticate(token),
    isClaimed: () => parts.auth.claim.isClaimed(),
    anonymous: config.anonymousRole === 'NONE' ? undefined : anonymousPrincipal(config.anonymousRole),
    ownNames: () => networkNames(config.publicHost, mdns?.hostName).dns,
    // With this header browsers use TLS on every port, and would refuse a certificate of our own authority.
    strictTransport: !config.http && config.tlsCertificate !== undefined,
    resolvers: {
      site_id: resolveSiteId(parts.site),
      device_id: (value) => parts.devices.require(value).id,
    },
    durable: () => infrastructure.state.durable(),
    onAnswered: (answered) => parts.audit.record({ ...answered, params: named(answered.params) }),
    routes,
    streams,
    trustedProxies: config.trustedProxies?.split(',').map((network) => network.trim()),
    publicHost: config.publicHost,
    corsOrigins: config.corsOrigins?.split(',').map((origin) => origin.trim()),
    files: {
      dir: options.consoleDir ?? packagePath('dist', 'console'),
      // Where an editor's extension sends a browser for a device.
      links: { '/ems/devices/{device}': '/#/devices/{device}' },
    },
    requestsPerSecond: config.httpRequestsPerSecond,
    requestBurst: config.httpRequestBurst,
  });
  closeRevokedStreams(parts.auth, http);
  tls?.onRenewed(() => {
    http.setSecureContext(tls.serverContext());
    broker.setSecureContext(tls.deviceContext());
  });
  return { http, broker, /** What `http` serves. */ routes, streams };
}

/** A refusal is in the audit trail and in the log of the device. */
function refusals({ audit, devices, connectivity }: Capabilities, clock: Clock): MqttHooks['onRefused'] {
  const record = refusalRecorder(audit, devices, clock);
  return (refusal) => {
    record(refusal);
    connectivity.hooks.onRefused?.(refusal);
  };
}

function anonymousPrincipal(role: 'READONLY'): Principal {
  return { role, origin: { kind: 'anonymous', id: 'anonymous', name: 'anonymous' }, rateKey: 'anonymous' };
}

function closeRevokedStreams(auth: Auth, http: Http): void {
  auth.events.on('token_revoked', 'http', ({ tokenId }) =>
    http.closeStreams((principal) => principal.tokenId === tokenId, 'the token was revoked'),
  );
}

// Announces the gateway on the local network.

/** Undefined when the gateway is not announced. */
export function createAnnouncement({ config, clock, log }: GatewayOptions): Mdns | undefined {
  return config.mdns ? new Mdns({ name: config.mdnsName, clock, log }) : undefined;
}

/** Ports that listen; undefined for one that does not. */
export interface AnnouncedPorts {
  httpPort: number;
  httpsPort: number | undefined;
  mqttPort: number;
  mqttsPort: number | undefined;
}

/** Announces every listener on the networks that reach it. */
export function announce(
  mdns: Pick<Mdns, 'start' | 'stop'>,
  config: Config,
  ports: AnnouncedPorts,
  started: StartedHook,
): void {
  const httpHost = config.http ? config.httpHost : undefined;
  const all = [
    { type: '_http._tcp', host: httpHost, port: ports.httpPort, texts: ['path=/'] },
    { type: '_https._tcp', host: config.httpHost, port: ports.httpsPort, texts: ['path=/'] },
    { type: '_mqtt._tcp', host: config.mqttHost, port: ports.mqttPort },
    { type: '_secure-mqtt._tcp', host: config.mqttHost, port: ports.mqttsPort },
  ];
  mdns.start((address) =>
    all.flatMap(({ type, host, port, texts }): AnnouncedService[] =>
      port !== undefined && host !== undefined && isReachedAt(host, address)
        ? [{ type, port, ...(texts && { texts }) }]
        : [],
    ),
  );
  started('mdns', () => mdns.stop());
}

function isReachedAt(host: string, address: string): boolean {
  return isAnyAddress(host) || host === address;
}
