/** Samples as metrics of Sparkplug B, and what was told of them. */
import type { EpochMs } from '../../../lib/time.ts';
import { DATATYPES, type Datatype, type SparkplugMetric } from '../../../protocol/sparkplug.ts';
import { exactJson } from '../../../protocol/telemetry.ts';
import type { CompiledAttribute } from '../../blueprints/index.ts';
import type { Latest } from '../../telemetry/index.ts';
import type { LabelledSamples } from '../model.ts';

/** What a host knows of a device. */
export interface ToldDevice {
  readonly slug: string;
  /** What its birth said that it may tell; undefined: the host takes it for dead. */
  born: ReadonlyMap<string, Datatype> | undefined;
  /** It may have other attributes now. */
  isChanged: boolean;
  readonly metrics: Map<string, ToldMetric>;
}

/** The newest value. */
interface ToldMetric {
  datatype: Datatype;
  timestampMs: EpochMs;
  value: SparkplugMetric['value'];
}

const DATATYPE_OF: Readonly<Record<string, Datatype>> = {
  float: DATATYPES.DOUBLE,
  integer: DATATYPES.INT64,
  boolean: DATATYPES.BOOLEAN,
};

/** Everything that has no form of its own there is JSON. */
const datatypeOf = (type: string): Datatype => DATATYPE_OF[type] ?? DATATYPES.STRING;

/** What is later than that is of a clock that was wrong, and makes nothing else late. */
const newestMsOf = (told: ToldMetric | undefined, currentToMs: EpochMs): EpochMs =>
  told && told.timestampMs <= currentToMs ? told.timestampMs : 0;

/** What is true now, whether it was sent or not; undefined: nobody knows. */
export function noteLatest(
  { metrics }: ToldDevice,
  [name, { type }]: readonly [name: string, attribute: CompiledAttribute],
  latest: Latest | undefined,
  currentToMs: EpochMs,
): void {
  const timestampMs = (latest?.timestampS ?? 0) * 1_000;
  if (!latest || timestampMs <= newestMsOf(metrics.get(name), currentToMs)) return;
  const datatype = datatypeOf(type);
  const isText = datatype === DATATYPES.STRING && type !== 'string';
  const value = isText ? exactJson(latest.value) : (latest.value as ToldMetric['value']);
  metrics.set(name, { datatype, timestampMs, value });
}

/** All that a device can tell, with the newest value where one is known. */
export function birthMetrics(
  { metrics }: ToldDevice,
  declared: readonly (readonly [name: string, attribute: CompiledAttribute])[],
  nowMs: EpochMs,
): SparkplugMetric[] {
  const units = new Map(declared.map(([name, { unit }]) => [name, unit]));
  const all = new Map<string, ToldMetric>(
    declared.map(([name, { type }]) => [
      name,
      { datatype: datatypeOf(type), timestampMs: nowMs, value: null },
    ]),
  );
  for (const [name, told] of metrics) all.set(name, told);
  return [...all].map(([name, metric]) => ({ name, ...metric, unit: units.get(name) }));
}

/**
 * The samples of one device by time, which are then told; `hasNew`: the host must learn of a metric first.
 * Of each metric only the newest sample is its value, and that only when it is of now.
 */
export function dataMetrics(
  { metrics: told, born }: ToldDevice,
  series: readonly LabelledSamples[],
  current: { fromMs: EpochMs; toMs: EpochMs },
): { metrics: SparkplugMetric[]; hasNew: boolean } {
  const metrics: SparkplugMetric[] = [];
  let hasNew = false;
  for (const samples of series) {
    const { attribute: name, type, times } = samples;
    const datatype = datatypeOf(type);
    const known = told.get(name);
    if (born?.get(name) !== datatype) hasNew = true;
    const lastS = times.findLast((timestampS) => timestampS * 1_000 <= current.toMs) ?? 0;
    const newestMs = Math.max(newestMsOf(known, current.toMs), lastS * 1_000);
    for (const [index, timestampS] of times.entries()) {
      const timestampMs = timestampS * 1_000;
      const value = valueAt(samples, index);
      const isHistorical = timestampMs !== newestMs || timestampMs < current.fromMs;
      metrics.push({ name, timestampMs, datatype, value, isHistorical });
      if (timestampMs === newestMs) told.set(name, { datatype, timestampMs, value });
    }
  }
  return { metrics: metrics.toSorted((a, b) => a.timestampMs - b.timestampMs), hasNew };
}

function valueAt({ type, numbers, integers, texts }: LabelledSamples, index: number) {
  const value = numbers[index] as number;
  if (type === 'boolean') return value === 1;
  if (type === 'integer') return integers?.[index] ?? value;
  return type === 'float' ? value : (texts[value] as string);
}
