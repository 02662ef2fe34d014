/** Alerts of the site: an extension of the interface. */
import { roleIncludes } from '../../lib/role.ts';
import { type Call, route, type Route, stream, type Stream } from '../../platform/http/index.ts';
import type { Devices } from '../devices/index.ts';
import { type Alert, isNewsFor } from './model.ts';
import { type AlertOnWire, alertShapes, alertToWire, filterOf, listQuery, snoozeBody } from './schema.ts';
import type { Alerts } from './service.ts';

interface RouteOptions {
  alerts: Alerts;
  devices: Devices;
}

const ALERTS = '/v3/alerts';

type Shown = (alert: Alert, call: Pick<Call, 'principal'>) => AlertOnWire;

/** HTTP operations on alerts. */
export function alertRoutes({ alerts, devices }: RouteOptions): Route[] {
  const toWire: Shown = (alert, { principal }) =>
    alertToWire(alert, devices.get(alert.deviceId), roleIncludes(principal.role, 'USER'));
  return [
    route({
      operation: 'list_alerts',
      about: 'Raised and cleared alerts that the caller may see, the most recently raised first.',
      answer: alertShapes.list,
      GET: [ALERTS],
      role: 'READONLY',
      query: listQuery,
      errors: ['404 device_not_found'],
      handle: (call) => {
        const wanted = filterOf(call.query, (idOrSlug) => devices.require(idOrSlug).id);
        const filter = { ...wanted, role: call.principal.role };
        const found = alerts.list(filter, call.query.limit, call.query.offset);
        return { alerts: found.alerts.map((alert) => toWire(alert, call)), total_count: found.totalCount };
      },
    }),
    route({
      operation: 'get_alert',
      about: 'One alert that the caller may see.',
      answer: alertShapes.one,
      GET: [`${ALERTS}/{alert_id}`],
      idsOnly: true,
      role: 'READONLY',
      errors: ['404 alert_not_found'],
      handle: (call) => ({
        alert: toWire(alerts.requireFor(call.principal, call.param('alert_id')), call),
      }),
    }),
    ...acknowledgementRoutes(alerts, toWire),
  ];
}

function acknowledgementRoutes(alerts: Alerts, toWire: Shown): Route[] {
  return [
    route({
      operation: 'acknowledge_alerts',
      about:
        'Acknowledges all raised alerts that the caller may see; answers those that nobody had acknowledged.',
      answer: alertShapes.list,
      POST: [`${ALERTS}/acknowledge`],
      role: 'USER',
      handle: (call) => {
        const seen = alerts.acknowledgeRaised(call.principal);
        call.note({ count: String(seen.length) });
        return { alerts: seen.map((alert) => toWire(alert, call)), total_count: seen.length };
      },
    }),
    route({
      operation: 'acknowledge_alert',
      about: 'Acknowledges an alert. The first acknowledgement counts.',
      answer: alertShapes.one,
      POST: [`${ALERTS}/{alert_id}/acknowledge`],
      role: 'USER',
      errors: ['404 alert_not_found'],
      handle: (call) => {
        const alert = alerts.acknowledge(call.param('alert_id'), call.principal);
        call.note({ device_id: alert.deviceId, alert: alert.name });
        return { alert: toWire(alert, call) };
      },
    }),
    route({
      operation: 'snooze_alert',
      about: 'Acknowledges an alert until a moment; if it is still raised then, it is news again.',
      answer: alertShapes.one,
      POST: [`${ALERTS}/{alert_id}/snooze`],
      role: 'USER',
      body: snoozeBody,
      errors: ['404 alert_not_found'],
      handle: (call) => {
        const alert = alerts.acknowledge(call.param('alert_id'), call.principal, call.body.until);
        call.note({ device_id: alert.deviceId, alert: alert.name });
        return { alert: toWire(alert, call) };
      },
    }),
  ];
}

/** The WebSocket stream of alert changes. */
export function alertStreams({ alerts, devices }: RouteOptions): Stream[] {
  return [
    stream({
      operation: 'stream_alerts',
      about: 'Alerts as they are raised, cleared and acknowledged; no history.',
      message: alertShapes.message,
      paths: [ALERTS],
      role: 'READONLY',
      open: ({ principal }) => {
        const showsPeople = roleIncludes(principal.role, 'USER');
        return (socket) => [
          alerts.events.on('alert_changed', 'alert stream', (change) => {
            const { kind, alert } = change;
            if (!isNewsFor(change, principal.role)) return;
            socket.send({
              change: kind,
              alert: alertToWire(alert, devices.get(alert.deviceId), showsPeople),
            });
          }),
        ];
      },
    }),
  ];
}
