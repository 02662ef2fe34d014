/** A template as a device of a gateway: uploaded, connected, watched until its values are there, and deleted again. */
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import type { Clock } from '../../src/platform/clock/index.ts';
import type { GatewayClient } from '../support/gateway-client.ts';
import type { LoadedTemplate } from './load.ts';

const POLL_MS = 300;
/** Rhythms of minutes would make a trial as long. A device is not asked more often than its template does anyway. */
const EVERY_MS_MAX = 2_000;

export interface TrialOptions {
  client: GatewayClient;
  upload: (zip: Uint8Array<ArrayBuffer>) => Promise<{ id: string }>;
  clock: Pick<Clock, 'sleep' | 'monotonicMs'>;
  /** How long to wait for all values. */
  watchMs: number;
  /** Names that need not be waited for: they have no value. */
  absent: ReadonlySet<string>;
  /** Runs when the values are there, with the path of the device. */
  andThen?: (device: string) => Promise<void>;
}

/** What became of it. */
export interface Watched {
  /** Telemetry and properties by name. */
  values: Record<string, unknown>;
  /** Warnings and errors in the log of the device, each once. */
  notes: string[];
}

export async function tryTemplate(
  { template, compiled, settings }: LoadedTemplate,
  options: TrialOptions,
): Promise<Watched> {
  const { client } = options;
  const files = new Map(
    Object.entries({
      ...compiled.files,
      'lua/main.lua': quickened(compiled.files['lua/main.lua'] ?? ''),
    }).map(([path, text]) => [path, Buffer.from(text)]),
  );
  const { id: blueprint_id } = await options.upload(Uint8Array.from(await writeArchive(files)));
  const body = { name: template.name.slice(0, 64), runtime_id: 'gateway', blueprint_id };
  const made = await client.json({ method: 'POST', path: '/provisioning/lua_device', body });
  const device = `/devices/${String(made['device_id'])}`;
  try {
    if (Object.keys(settings).length > 0)
      await client.json({
        method: 'PATCH',
        path: `${device}/configuration/connection`,
        body: { set: settings },
      });
    const values = await watch(device, wantedNames(compiled.manifest), options);
    await options.andThen?.(device);
    const { logs } = await client.json({ path: `${device}/logs?severity=warning,error&limit=50` });
    const entries = logs as { severity: string; message: string }[];
    return {
      values,
      notes: [...new Set(entries.map(({ severity, message }) => `${severity}: ${message.trim()}`))],
    };
  } finally {
    await client.json({ method: 'DELETE', path: device });
  }
}

const quickened = (main: string): string =>
  main.replaceAll(/every_ms = (\d+)/g, (_, ms: string) => `every_ms = ${Math.min(Number(ms), EVERY_MS_MAX)}`);

/** Attributes that a manifest declares, with their units. */
export function declaredUnits(manifest: Readonly<Record<string, unknown>>): Map<string, string> {
  type Section = Record<string, { unit?: string; type?: string }>;
  const { telemetry = {}, properties = {} } = manifest as { telemetry?: Section; properties?: Section };
  return new Map(
    Object.entries({ ...properties, ...telemetry })
      .filter(([, { type }]) => type !== 'alerts')
      .map(([name, { unit = '' }]) => [name, unit]),
  );
}

const wantedNames = (manifest: Readonly<Record<string, unknown>>): string[] => [
  ...declaredUnits(manifest).keys(),
];

/** Until every value is there, or its time is over. */
async function watch(
  device: string,
  wanted: readonly string[],
  { client, clock, watchMs, absent }: TrialOptions,
): Promise<Record<string, unknown>> {
  const endMs = clock.monotonicMs() + watchMs;
  for (;;) {
    const { telemetry } = await client.json({ path: `${device}/telemetry?relevance_interval=1h` });
    const { device: described } = await client.json({ path: `${device}?expand=properties` });
    const { properties = {} } = described as { properties?: Record<string, unknown> };
    const latest = Object.entries(telemetry as Record<string, { value?: unknown }>);
    const values = { ...properties, ...Object.fromEntries(latest.map(([name, { value }]) => [name, value])) };
    const isThere = (name: string): boolean => absent.has(name) || (values[name] ?? undefined) !== undefined;
    if (wanted.every(isThere) || clock.monotonicMs() >= endMs) return values;
    await clock.sleep(POLL_MS);
  }
}
