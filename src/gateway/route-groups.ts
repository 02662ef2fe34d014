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
import { deviceRoutes } from '../capabilities/devices/index.ts';
import { energyRoutes } from '../capabilities/energy/index.ts';
import { libraryRoutes } from '../capabilities/library/index.ts';
import { modulePortRoutes } from '../capabilities/module-ports/index.ts';
import { scanRoutes } from '../capabilities/modules/index.ts';
import { monitorStreams } from '../capabilities/monitor/index.ts';
import { mqttGuestRoutes } from '../capabilities/mqtt-guests/index.ts';
import { notificationRoutes } from '../capabilities/notifications/index.ts';
import { provisioningRoutes } from '../capabilities/provisioning/index.ts';
import { ruleRoutes, ruleStreams } from '../capabilities/rules/index.ts';
import { siteRoutes } from '../capabilities/site/index.ts';
import { targetRoutes } from '../capabilities/targets/index.ts';
import { telemetryRoutes, telemetryStreams } from '../capabilities/telemetry/index.ts';
import { updateRoutes } from '../capabilities/updates/index.ts';
import { unprocessable } from '../lib/errors.ts';
import { LIMITS } from '../lib/limits.ts';
import { type Route, route, type RouteGroup, type Stream } from '../platform/http/index.ts';
import type { Metrics } from '../platform/metrics/index.ts';
import type { Tls } from '../platform/tls/index.ts';
import type { Capabilities } from './capabilities.ts';
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
    group('Site', 'The one site of the gateway.', siteRoutes(site)),
    group('Devices', 'Devices and what happens to them.', deviceRoutes(parts), monitorStreams(parts)),
    group('Provisioning', 'New devices, and what they need to connect.', [
      ...provisioningRoutes(parts),
      ...mqttGuestRoutes(parts),
      ...announcementRoutes(parts),
      ...modulePortRoutes(parts.modulePorts),
      ...scanRoutes(modules),
    ]),
    group('Blueprints', 'Kinds of devices: manifests, scripts, profiles.', blueprintRoutes(blueprints)),
    group('Library', 'Devices that the gateway knows how to read.', libraryRoutes(parts.library)),
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
    group('Device logs', 'Log entries of devices.', deviceLogRoutes(parts), deviceLogStreams(parts)),
    group(
      'Alerts',
      'Alerts of devices, their acknowledgement, and notifications.',
      [...alertRoutes(parts), ...notificationRoutes(parts.notifications)],
      alertStreams(parts),
    ),
    group(
      'Rules',
      'Automation of the site: Lua rules and their engine.',
      ruleRoutes(parts),
      ruleStreams(parts),
    ),
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

function group(
  name: string,
  about: string,
  routes: readonly Route[],
  streams: readonly Stream[] = [],
): RouteGroup {
  return { name, about, routes, streams };
}

// The certificate of the gateway's own authority, for browsers and devices that should trust it. It holds no secret.

const HEADERS = { 'Cache-Control': 'no-cache' };

/** @param caPem undefined: nothing listens over TLS */
function authorityRoutes(caPem: string | undefined): Route[] {
  const file = (
    extension: string,
    mediaType: string,
    content: (pem: string) => string | Uint8Array<ArrayBuffer>,
  ) =>
    route({
      role: null,
      // So a person can claim the box over HTTPS without a warning of the browser.
      beforeClaim: true,
      anonymousPerMinute: LIMITS.http.anonymousDescriptionPerMinute,
      operation: `get_authority_${extension}`,
      about: `The certificate of the gateway's own authority as a file, ${extension === 'pem' ? 'PEM' : 'DER'}: trust it in a browser or a device to reach this gateway over TLS.`,
      GET: [`/ca.${extension}`],
      answer: { mediaType, about: 'The certificate, without a key.' },
      errors: ['422 not_available_on_gateway'],
      handle: () => {
        if (caPem === undefined)
          throw unprocessable(
            'not_available_on_gateway',
            'TLS is off on this gateway, so that it has no certificate authority.',
          );
        return new Response(content(caPem), {
          headers: {
            ...HEADERS,
            'Content-Type': mediaType,
            'Content-Disposition': `attachment; filename="energy-gateway-ca.${extension}"`,
          },
        });
      },
    });
  return [
    file('pem', 'application/x-pem-file', (pem) => pem),
    // What operating systems and browsers open with a question whether to trust it.
    file('crt', 'application/x-x509-ca-cert', derOf),
  ];
}

function derOf(pem: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64'));
}
