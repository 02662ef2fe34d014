/** Every operation and stream, by chapter as the API description shows them. */
import { alertRoutes, alertStreams } from '../capabilities/alerts/index.ts';
import { applianceRoutes } from '../capabilities/appliance/index.ts';
import { auditRoutes } from '../capabilities/audit/index.ts';
import { authRoutes } from '../capabilities/auth/index.ts';
import { backupRoutes } from '../capabilities/backups/index.ts';
import { blueprintRoutes } from '../capabilities/blueprints/index.ts';
import { commandRoutes } from '../capabilities/commands/index.ts';
import { deviceConfigurationRoutes } from '../capabilities/device-configuration/index.ts';
import { deviceLogRoutes, deviceLogStreams } from '../capabilities/device-logs/index.ts';
import { deviceRoutes } from '../capabilities/devices/index.ts';
import { monitorStreams } from '../capabilities/monitor/index.ts';
import { energyRoutes } from '../capabilities/energy/index.ts';
import { notificationRoutes } from '../capabilities/notifications/index.ts';
import { provisioningRoutes } from '../capabilities/provisioning/index.ts';
import { ruleRoutes, ruleStreams } from '../capabilities/rules/index.ts';
import { scanRoutes } from '../capabilities/modules/index.ts';
import { modulePortRoutes } from '../capabilities/module-ports/index.ts';
import { siteRoutes } from '../capabilities/site/index.ts';
import { targetRoutes } from '../capabilities/targets/index.ts';
import { updateRoutes } from '../capabilities/updates/index.ts';
import { telemetryRoutes, telemetryStreams } from '../capabilities/telemetry/index.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Route, RouteGroup } from '../platform/http/index.ts';
import type { Metrics } from '../platform/metrics/index.ts';
import type { Tls } from '../platform/tls/index.ts';
import type { Capabilities } from './capabilities.ts';
import { authorityRoutes } from './authority-routes.ts';
import { descriptionRoutes } from './description-routes.ts';
import type { GatewayOptions } from './infrastructure.ts';

export function routeGroups(
  parts: Capabilities,
  { clock, version }: GatewayOptions,
  metrics: Metrics,
  tls: Tls | undefined,
): RouteGroup[] {
  const { site, auth, audit, blueprints, devices, deviceConfiguration, telemetry } = parts;
  const groups: RouteGroup[] = [
    { name: 'Site', about: 'The one site of the gateway.', routes: siteRoutes(site) },
    {
      name: 'Devices',
      about: 'Devices and what happens to them.',
      routes: deviceRoutes(parts),
      streams: monitorStreams(parts),
    },
    provisioningGroup(parts),
    {
      name: 'Blueprints',
      about: 'Kinds of devices: manifests, scripts, profiles.',
      routes: blueprintRoutes(blueprints),
    },
    {
      name: 'Configuration',
      about: 'Configuration of devices by the groups of their blueprints.',
      routes: deviceConfigurationRoutes(deviceConfiguration, devices),
    },
    {
      name: 'Commands',
      about: 'Commands of devices and their executions.',
      routes: commandRoutes({ ...parts, clock, limits: LIMITS.commands }),
    },
    {
      name: 'Telemetry',
      about: 'Latest values, time series, and the energy of the site.',
      routes: [...telemetryRoutes(telemetry, devices), ...energyRoutes(parts.energy)],
      streams: telemetryStreams(telemetry, devices),
    },
    {
      name: 'Device logs',
      about: 'Log entries of devices.',
      routes: deviceLogRoutes(parts),
      streams: deviceLogStreams(parts),
    },
    alertGroup(parts),
    {
      name: 'Rules',
      about: 'Automation of the site: Lua rules and their engine.',
      routes: ruleRoutes(parts),
      streams: ruleStreams(parts),
    },
    { name: 'Targets', about: 'Engines that get the telemetry.', routes: targetRoutes(parts.targets) },
    { name: 'Access', about: 'Logins, users and access tokens.', routes: authRoutes(auth) },
    { name: 'Audit', about: 'Who changed or commanded what.', routes: auditRoutes(audit) },
    {
      name: 'Appliance',
      about: 'The gateway itself.',
      routes: [...ownRoutes(parts, version, metrics), ...authorityRoutes(tls?.caPem)],
    },
  ];
  groups.push({
    name: 'Description',
    about: 'This description.',
    routes: descriptionRoutes(() => groups, version),
  });
  return groups;
}

function alertGroup(parts: Capabilities): RouteGroup {
  return {
    name: 'Alerts',
    about: 'Alerts of devices, their acknowledgement, and notifications.',
    routes: [...alertRoutes(parts), ...notificationRoutes(parts.notifications)],
    streams: alertStreams(parts),
  };
}

function provisioningGroup(parts: Capabilities): RouteGroup {
  const { modules, modulePorts } = parts;
  return {
    name: 'Provisioning',
    about: 'New devices, and what they need to connect.',
    routes: [...provisioningRoutes(parts), ...modulePortRoutes(modulePorts), ...scanRoutes(modules)],
  };
}

function ownRoutes(parts: Capabilities, version: string, metrics: Metrics): Route[] {
  return [
    ...applianceRoutes({ ...parts, metrics, version }),
    ...backupRoutes(parts.backups),
    ...updateRoutes(parts.updates),
  ];
}
