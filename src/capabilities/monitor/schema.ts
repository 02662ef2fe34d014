/** Messages of the stream of everything, as they stand on the wire. */
import * as v from 'valibot';
import { shape } from '../../platform/http/index.ts';
import { LOG_SEVERITIES } from '../../protocol/device-log.ts';

const common = {
  device_id: shape.id(),
  received_at: shape.instant(),
  timestamp: shape.unixSeconds(),
};

/** The subject of a change: a device, a command, or anything else. */
const CHANGES = ['DEVICE', 'COMMAND', 'OTHER'] as const;

export const messageShape = shape.named(
  'MonitorMessage',
  v.union([
    v.object({ ...common, telemetry: shape.anyObject() }),
    v.object({ ...common, properties: shape.anyObject() }),
    v.object({ ...common, connectivity: v.object({ status: v.picklist(['ONLINE', 'OFFLINE']) }) }),
    v.object({
      ...common,
      log: v.object({ severity: v.picklist(LOG_SEVERITIES), message: v.string(), persist: v.boolean() }),
    }),
    v.object({ ...common, device_id: v.optional(common.device_id), change: v.picklist(CHANGES) }),
  ]),
  {
    device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01',
    received_at: '2026-03-01T08:00:00.123Z',
    timestamp: 1_772_352_000,
    connectivity: { status: 'ONLINE' },
  },
);

export type MonitorMessage = v.InferOutput<typeof messageShape>;
/** The part that differs between messages about a device. */
type ContentOf<Kind> = Kind extends MonitorMessage & { device_id: string }
  ? Omit<Kind, keyof typeof common>
  : never;
export type Content = ContentOf<MonitorMessage>;
