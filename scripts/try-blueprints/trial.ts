/** One blueprint on a gateway: uploaded, given to a device of the built-in module, watched, and its device deleted again. */
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import type { Clock } from '../../src/platform/clock/index.ts';
import { type GatewayClient, GatewayRefusal } from '../support/gateway-client.ts';
import type { FoundBlueprint } from './find.ts';
import { notesOfFiles } from './script-notes.ts';

interface LogEntry {
  severity: string;
  message: string;
  persist: boolean;
}

export interface Trial {
  name: string;
  isAccepted: boolean;
  /** `silent`: it neither failed nor said anything; `not carried`: the module lacks something, as the error says. */
  loaded: 'yes' | 'no' | 'silent' | 'not carried' | '';
  /** As `attribute=value`; empty: none came. */
  firstValue: string;
  firstError: string;
  /** Everything else: all problems of its manifest, warnings and errors, a time that ran out, what its files lack. */
  notes: string[];
}

export interface TrialOptions {
  client: GatewayClient;
  upload: (zip: Uint8Array<ArrayBuffer>) => Promise<{ id: string; warnings?: string[] }>;
  clock: Pick<Clock, 'sleep' | 'monotonicMs'>;
  /** How long a script has for its first value. */
  watchMs: number;
}

const POLL_MS = 500;
const AFTER_MS = 1_000;
/** What a gateway answers to a blueprint that it does not take. */
const OF_THE_BLUEPRINT = new Set([400, 413, 422]);

export async function tryBlueprint(found: FoundBlueprint, options: TrialOptions): Promise<Trial> {
  const trial: Trial = {
    name: found.name,
    isAccepted: false,
    loaded: '',
    firstValue: '',
    firstError: '',
    notes: notesOfFiles(found),
  };
  let blueprintId: string;
  try {
    const uploaded = await options.upload(Uint8Array.from(await writeArchive(found.files)));
    blueprintId = uploaded.id;
    trial.notes.push(...(uploaded.warnings ?? []));
  } catch (error) {
    if (!(error instanceof GatewayRefusal) || !OF_THE_BLUEPRINT.has(error.status)) throw error;
    return { ...trial, firstError: error.message, notes: [...error.problems] };
  }
  trial.isAccepted = true;
  const device = await provision(found.name, blueprintId, options.client);
  if (device instanceof GatewayRefusal)
    return { ...trial, loaded: 'not carried', firstError: device.message };
  try {
    const { notes, ...watched } = await watch(device, options);
    return { ...trial, ...watched, notes: [...trial.notes, ...notes] };
  } finally {
    await options.client.json({ method: 'DELETE', path: `/devices/${device}` });
  }
}

/** Its id, or why the module does not carry it. */
async function provision(
  name: string,
  blueprintId: string,
  client: GatewayClient,
): Promise<string | GatewayRefusal> {
  const body = { name: name.slice(-64), runtime_id: 'gateway', blueprint_id: blueprintId };
  try {
    const { device_id: id } = await client.json({ method: 'POST', path: '/provisioning/lua_device', body });
    return String(id);
  } catch (error) {
    if (error instanceof GatewayRefusal && error.status === 422) return error;
    throw error;
  }
}

/** Until there is a value, or its time is over. */
async function watch(
  id: string,
  { client, clock, watchMs }: TrialOptions,
): Promise<Omit<Trial, 'name' | 'isAccepted'>> {
  const endMs = clock.monotonicMs() + watchMs;
  for (;;) {
    const firstValue = valueOf(await client.json({ path: `/devices/${id}/telemetry?relevance_interval=1h` }));
    if (firstValue !== '' || clock.monotonicMs() >= endMs) {
      // What it does after its first value may have warnings, too.
      await clock.sleep(AFTER_MS);
      const { device } = await client.json({ path: `/devices/${id}?expand=connectivity` });
      const { logs } = await client.json({ path: `/devices/${id}/logs?severity=warning,error&limit=50` });
      const entries = logs as LogEntry[];
      const error = entries.findLast(({ severity }) => severity === 'error');
      const notes = new Set(entries.map(({ severity, message }) => `${severity}: ${message.trim()}`));
      if (firstValue === '') notes.add(`No value came within ${watchMs / 1_000} s.`);
      const { status } = (device as { connectivity: { status: string } }).connectivity;
      const loaded = status === 'ONLINE' ? 'yes' : error?.persist === true ? 'no' : 'silent';
      return { loaded, firstValue, firstError: error?.message.split('\n', 1)[0] ?? '', notes: [...notes] };
    }
    await clock.sleep(POLL_MS);
  }
}

/** A measured value says more than the words beside it. */
function valueOf(answer: Record<string, unknown>): string {
  const values = Object.entries(answer['telemetry'] as Record<string, { value?: unknown }>).filter(
    ([, { value }]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  const [name, latest] = values.find(([, { value }]) => typeof value === 'number') ?? values[0] ?? [];
  return name === undefined ? '' : `${name}=${JSON.stringify(latest?.value)}`;
}
