/** Alerts as they stand on the wire. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { parseTimestampMs } from '../../lib/time.ts';
import { query, shape } from '../../platform/http/index.ts';
import type { Device } from '../devices/index.ts';
import type { Alert, AlertFilter } from './model.ts';
import { ALERT_SEVERITIES, ALERT_SOURCES } from './tables.ts';

export const listQuery = v.object({
  state: query.optionalChoice(['RAISED', 'CLEARED'], { description: 'Absent: both.' }),
  acknowledged: query.optionalFlag({
    description: 'Only those that somebody has, or nobody has, acknowledged.',
  }),
  'device_id.in': query.optionalList('Of these devices, by id or slug.'),
  severity: query.optionalChoices(ALERT_SEVERITIES, 'Only alerts of exactly these severities. Absent: all.'),
  from: query.bound('Alerts that were still raised at this moment.'),
  to: query.bound('Alerts that were raised before this moment.'),
  ...query.page(LIMITS.alerts.listItems),
});

/** `idOf`: the id of a device by id or slug. */
export function filterOf(
  input: v.InferOutput<typeof listQuery>,
  idOf: (idOrSlug: string) => string,
): AlertFilter {
  const { state, acknowledged, severity } = input;
  return {
    isActive: state === undefined ? undefined : state === 'RAISED',
    isAcknowledged: acknowledged,
    deviceIds: input['device_id.in']?.map(idOf),
    severities: severity,
    fromMs: input.from,
    beforeMs: input.to,
  };
}

const instantOrNull = () => v.nullable(shape.instant());

const alertShape = shape.named(
  'Alert',
  v.object({
    id: shape.id(),
    device_id: shape.id(),
    device_name: v.string(),
    source: shape.about(
      v.picklist(ALERT_SOURCES),
      'GATEWAY: what the gateway says of a device, such as `offline`.',
    ),
    name: v.string(),
    display_name: v.string(),
    severity: v.picklist(ALERT_SEVERITIES),
    details: shape.about(v.nullable(v.string()), 'What the device said in `alert_details`.'),
    raised_at: shape.instant(),
    cleared_at: shape.about(instantOrNull(), 'null: it is raised.'),
    times_raised: v.pipe(
      shape.count(),
      v.minValue(1),
      v.description('More than 1 when it came back within a minute.'),
    ),
    acknowledged_at: instantOrNull(),
    acknowledged_by: shape.about(
      v.nullable(v.string()),
      'Name of the user or token; not shown below the role USER.',
    ),
    acknowledged_until: shape.about(
      instantOrNull(),
      'When the alert counts as not acknowledged again, if it is still raised; null: never.',
    ),
  }),
  {
    id: '5b0a3a5c-3e0b-4d4e-8a5f-0d6a4c1f2b33',
    device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01',
    device_name: 'Battery 1',
    source: 'DEVICE',
    name: 'low_soc',
    display_name: 'State of charge is low',
    severity: 'warning',
    details: null,
    raised_at: '2026-03-01T08:00:00.000Z',
    cleared_at: null,
    times_raised: 1,
    acknowledged_at: null,
    acknowledged_by: null,
    acknowledged_until: null,
  },
);

export const snoozeBody = v.object({
  until: v.pipe(
    v.string('must be an RFC 3339 timestamp'),
    shape.wire(shape.WIRE.timestamp),
    shape.parsed(parseTimestampMs, 'an RFC 3339 timestamp such as 2026-03-01T08:00:00Z'),
    v.description('It counts as acknowledged until then.'),
  ),
});

export type AlertOnWire = v.InferOutput<typeof alertShape>;

const messageShape = shape.named(
  'AlertMessage',
  v.object({
    change: shape.about(
      v.picklist(['RAISED', 'LASTING', 'CLEARED', 'ACKNOWLEDGED']),
      'LASTING: it is still raised after the grace period of its manifest, or after it was snoozed.',
    ),
    alert: alertShape,
  }),
);

export type AlertMessage = v.InferOutput<typeof messageShape>;

export const alertShapes = {
  one: v.object({ alert: alertShape }),
  list: shape.listOf('alerts', alertShape),
  message: messageShape,
};

/** `showsPeople`: names of users too. */
export function alertToWire(alert: Alert, device: Device | undefined, showsPeople: boolean): AlertOnWire {
  return {
    ...shape.filled(alertShape, alert),
    device_name: device?.name ?? alert.deviceId,
    acknowledged_by: showsPeople ? (alert.acknowledgedBy ?? null) : null,
  };
}
