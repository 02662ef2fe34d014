/** The two servers that people, programs and devices talk to. */
import { applianceRoutes } from '../capabilities/appliance/index.ts';
import { type Auth, authRoutes } from '../capabilities/auth/index.ts';
import { blueprintRoutes } from '../capabilities/blueprints/index.ts';
import { commandRoutes } from '../capabilities/commands/index.ts';
import { deviceConfigurationRoutes } from '../capabilities/device-configuration/index.ts';
import { deviceLogRoutes, deviceLogStreams } from '../capabilities/device-logs/index.ts';
import { deviceRoutes } from '../capabilities/devices/index.ts';
import { monitorStreams } from '../capabilities/monitor/index.ts';
import { provisioningRoutes } from '../capabilities/provisioning/index.ts';
import { resolveSiteId, siteRoutes } from '../capabilities/site/index.ts';
import { telemetryRoutes, telemetryStreams } from '../capabilities/telemetry/index.ts';
import { LIMITS } from '../lib/limits.ts';
import { createHttp, type Http, type Principal, type Route, type Stream } from '../platform/http/index.ts';
import type { Metrics } from '../platform/metrics/index.ts';
import { createMqttBroker, type MqttBroker } from '../platform/mqtt/index.ts';
import type { Capabilities } from './capabilities.ts';
import type { GatewayOptions, Ground } from './ground.ts';

export interface Servers {
  http: Http;
  broker: MqttBroker;
  /** What `http` serves. */
  routes: readonly Route[];
  streams: readonly Stream[];
}

/** Builds the broker and the HTTP server; neither listens yet. */
export async function buildServers({ options, metrics }: Ground, parts: Capabilities): Promise<Servers> {
  const { config, clock, log } = options;
  const broker = await createMqttBroker({
    clock,
    log: log.child({ component: 'mqtt' }),
    metrics,
    host: config.mqttHost,
    port: config.mqttPort,
    hooks: parts.connectivity.hooks,
    limits: { messagesPerSecond: config.mqttMessagesPerSecond, messageBurst: config.mqttMessageBurst },
  });
  parts.connectivity.attach(broker);
  const routes = routesOf(parts, options, metrics);
  const streams = [
    ...deviceLogStreams(parts),
    ...telemetryStreams(parts.telemetry, parts.devices),
    ...monitorStreams(parts),
  ];
  const http = createHttp({
    host: config.httpHost,
    port: config.httpPort,
    clock,
    log: log.child({ component: 'http' }),
    metrics,
    authenticate: (token) => parts.auth.authenticate(token),
    isClaimed: () => parts.auth.isClaimed(),
    anonymous: config.anonymousRole === 'NONE' ? undefined : anonymousPrincipal(config.anonymousRole),
    resolvers: {
      site_id: resolveSiteId(parts.site),
      device_id: (value) => parts.devices.require(value).id,
    },
    routes,
    streams,
    corsOrigins: config.corsOrigins?.split(',').map((origin) => origin.trim()),
    requestsPerSecond: config.httpRequestsPerSecond,
    requestBurst: config.httpRequestBurst,
  });
  closeRevokedStreams(parts.auth, http);
  return { http, broker, routes, streams };
}

function routesOf(parts: Capabilities, { clock, version }: GatewayOptions, metrics: Metrics): Route[] {
  const { site, auth, blueprints, devices, deviceConfiguration, telemetry, appliance } = parts;
  return [
    ...applianceRoutes({ appliance, metrics, version }),
    ...siteRoutes(site),
    ...authRoutes(auth),
    ...blueprintRoutes(blueprints),
    ...deviceRoutes(parts),
    ...provisioningRoutes(parts),
    ...deviceConfigurationRoutes(deviceConfiguration, devices),
    ...commandRoutes({ ...parts, clock, limits: LIMITS.commands }),
    ...telemetryRoutes(telemetry, devices),
    ...deviceLogRoutes(parts),
  ];
}

function anonymousPrincipal(role: 'READONLY'): Principal {
  return { role, origin: { kind: 'anonymous', id: 'anonymous', name: 'anonymous' }, rateKey: 'anonymous' };
}

function closeRevokedStreams(auth: Auth, http: Http): void {
  auth.events.on('token_revoked', 'http', ({ rateKey }) =>
    http.closeStreams((principal) => principal.rateKey === rateKey, 'the token was revoked'),
  );
}
