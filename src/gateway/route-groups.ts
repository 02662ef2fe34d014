/** Every operation and stream, by chapter as the API description shows them. */
import { alertRoutes, alertStreams } from '../capabilities/alerts/index.ts';
import { announcementRoutes } from '../capabilities/announcements/index.ts';
import { applianceRoutes } from '../capabilities/appliance/index.ts';
import { auditRoutes } from '../capabilities/audit/index.ts';
import { authRoutes } from '../capabilities/auth/index.ts';
import { backupRoutes } from '../capabilities/backups/index.ts';
import { blueprintRoutes } from '../capabilities/blueprints/index.ts';
import { commandRoutes } from '../capabilities/commands/index.ts';
import { deviceConfigurationRoutes } from '../capabilities/device-configuration/index.ts';
import { deviceLogRoutes, deviceLogStreams } from '../capabilities/device-logs/index.ts';
import { deviceSearchRoutes } from '../capabilities/device-search/index.ts';
import { deviceRoutes } from '../capabilities/devices/index.ts';
import { documentRoutes } from '../capabilities/documents/index.ts';
import { monitorStreams } from '../capabilities/monitor/index.ts';
import { energyRoutes } from '../capabilities/energy/index.ts';
import { mqttGuestRoutes } from '../capabilities/mqtt-guests/index.ts';
import { notificationRoutes } from '../capabilities/notifications/index.ts';
import { outputRoutes } from '../capabilities/outputs/index.ts';
import { provisioningRoutes } from '../capabilities/provisioning/index.ts';
import { ruleRoutes, ruleStreams } from '../capabilities/rules/index.ts';
import { scanRoutes, traceRoutes } from '../capabilities/modules/index.ts';
import { libraryRoutes } from '../capabilities/library/index.ts';
import { modulePortRoutes } from '../capabilities/module-ports/index.ts';
import { siteRoutes } from '../capabilities/site/index.ts';
import { strategyRoutes } from '../capabilities/strategies/index.ts';
import { targetRoutes } from '../capabilities/targets/index.ts';
import { updateRoutes } from '../capabilities/updates/index.ts';
import { telemetryRoutes, telemetryStreams } from '../capabilities/telemetry/index.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Route, RouteGroup, Stream } from '../platform/http/index.ts';
import type { Metrics } from '../platform/metrics/index.ts';
import type { Tls } from '../platform/tls/index.ts';
import type { Capabilities } from './capabilities.ts';
import { attentionRoutes } from './attention-routes.ts';
import { authorityRoutes } from './authority-routes.ts';
import { descriptionRoutes } from './description-routes.ts';
import type { GatewayOptions } from './infrastructure.ts';

/** The parts are used by handlers only, so that routes can be described without them. */
export function routeGroups(
  parts: Capabilities,
  { clock, version }: Pick<GatewayOptions, 'clock' | 'version'>,
  metrics: Metrics,
  tls: Tls | undefined,
): RouteGroup[] {
  const { site, auth, audit, blueprints, devices, deviceConfiguration, modules, telemetry } = parts;
  const groups = [
    group('Site', 'The one site of the gateway.', [...siteRoutes(site), ...attentionRoutes(parts)]),
    group('Devices', 'Devices and what happens to them.', deviceRoutes(parts), monitorStreams(parts)),
    group('Provisioning', 'New devices, and what they need to connect.', [
      ...provisioningRoutes(parts),
      ...mqttGuestRoutes(parts),
      ...announcementRoutes(parts),
      ...modulePortRoutes(parts.modulePorts),
      ...scanRoutes(modules),
    ]),
    group('Documents', 'Photos and documents of devices.', documentRoutes(parts)),
    group('Blueprints', 'Kinds of devices: manifests, scripts, profiles.', blueprintRoutes(blueprints)),
    group('Library', 'Devices that the gateway can read, the search for them, and rules that it can make.', [
      ...libraryRoutes(parts.library),
      ...deviceSearchRoutes(parts.deviceSearch),
      ...strategyRoutes(parts),
    ]),
    group(
      'Configuration',
      'Configuration of devices by the groups of their blueprints.',
      deviceConfigurationRoutes(deviceConfiguration, devices),
    ),
    group(
      'Commands',
      'Commands of devices and their executions.',
      commandRoutes({ ...parts, clock, limits: LIMITS.commands }),
    ),
    group(
      'Telemetry',
      'Latest values, time series, and the energy of the site.',
      [...telemetryRoutes(telemetry, devices), ...energyRoutes(parts.energy)],
      telemetryStreams(telemetry, devices),
    ),
    deviceLogGroup(parts),
    group(
      'Alerts',
      'Alerts of devices, their acknowledgement, and notifications.',
      [...alertRoutes(parts), ...notificationRoutes(parts.notifications)],
      alertStreams(parts),
    ),
    ruleGroup(parts, clock),
    group('Targets', 'Engines that get the telemetry.', targetRoutes(parts.targets)),
    group('Access', 'Logins, users and access tokens.', authRoutes(auth)),
    group('Audit', 'Who changed or commanded what.', auditRoutes(audit)),
    group('Appliance', 'The gateway itself.', [
      ...applianceRoutes({ ...parts, metrics, version }),
      ...backupRoutes(parts.backups),
      ...updateRoutes(parts.updates),
      ...authorityRoutes(tls?.caPem),
    ]),
  ];
  groups.push(
    group(
      'Description',
      'This description.',
      descriptionRoutes(() => groups, version),
    ),
  );
  return groups;
}

function ruleGroup(parts: Capabilities, clock: GatewayOptions['clock']): RouteGroup {
  const routes = [...ruleRoutes(parts), ...outputRoutes({ ...parts, clock })];
  return group(
    'Rules',
    'Lua rules of the site, their engine, and what they set.',
    routes,
    ruleStreams(parts),
  );
}

function deviceLogGroup(parts: Capabilities): RouteGroup {
  const about = 'Log entries of devices, and traces of what they exchange.';
  const routes = [...deviceLogRoutes(parts), ...traceRoutes(parts)];
  return group('Device logs', about, routes, deviceLogStreams(parts));
}

function group(
  name: string,
  about: string,
  routes: readonly Route[],
  streams: readonly Stream[] = [],
): RouteGroup {
  return { name, about, routes, streams };
}
