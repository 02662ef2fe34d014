/** Future values of an attribute, sent by devices (docs/telemetry.md#schedules). */
import * as v from 'valibot';
import type { EpochS } from '../../lib/time.ts';
import type { CompiledManifest } from '../blueprints/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { unitFactor } from './profiles.ts';

/** The value at a moment; undefined where the schedule says nothing. */
export type Schedule = (atS: EpochS) => number | undefined;

const wireSchedule = v.object({
  start: v.pipe(v.number(), v.finite()),
  step_s: v.pipe(v.number(), v.minValue(1)),
  values: v.array(v.unknown()),
});

interface Parts {
  devices: Pick<Devices, 'all' | 'manifest'>;
  telemetry: Pick<Telemetry, 'latest'>;
}

const nameOf = (attribute: string): string => `${attribute}_schedule`;

/** Anybody who may read the site may read the attribute. */
function isDeclared(manifest: CompiledManifest, name: string): boolean {
  const { type, access_level: level } = manifest.telemetry[name] ?? {};
  return type === 'json' && level === 'readonly';
}

/** The future of one attribute; undefined: the device says none. */
export function scheduleOf(
  { devices, telemetry }: Parts,
  device: Device,
  attribute: string,
): Schedule | undefined {
  if (!isDeclared(devices.manifest(device), nameOf(attribute))) return undefined;
  const said = v.safeParse(wireSchedule, telemetry.latest(device, nameOf(attribute))?.value);
  if (!said.success) return undefined;
  const { start, step_s: stepS, values } = said.output;
  return (atS) => {
    const value = atS < start ? undefined : values[Math.floor((atS - start) / stepS)];
    return typeof value === 'number' ? value : undefined;
  };
}

/** The sun that all forecasts of the site expect together, in W; undefined: there is none. */
export function sunOf(parts: Parts): Schedule | undefined {
  const all = parts.devices.all().flatMap((device) => {
    const factor = unitFactor(parts.devices.manifest(device), 'forecast_power', 'W');
    const schedule = scheduleOf(parts, device, 'forecast_power');
    return schedule && factor !== undefined ? [{ schedule, factor }] : [];
  });
  if (all.length === 0) return undefined;
  return (atS) => {
    const powersW = all.map(({ schedule, factor }) => (schedule(atS) ?? Number.NaN) * factor);
    const sumW = powersW.reduce((sum, powerW) => sum + powerW, 0);
    return Number.isNaN(sumW) ? undefined : sumW;
  };
}

/** The schedule of the first device with prices; undefined: there is none. */
export function priceOf(parts: Parts): Schedule | undefined {
  for (const device of parts.devices.all()) {
    const schedule = scheduleOf(parts, device, 'energy_price');
    if (schedule) return schedule;
  }
  return undefined;
}
