/** Samples as metrics of Sparkplug B, and a record of what was published. */
import type { EpochMs } from '../../../lib/time.ts';
import { DATATYPES, type Datatype, type SparkplugMetric } from '../../../protocol/sparkplug.ts';
import { exactJson } from '../../../lib/json.ts';
import type { CompiledAttribute } from '../../blueprints/index.ts';
import type { Latest } from '../../telemetry/index.ts';
import type { LabelledSamples } from '../model.ts';

/** The published form of a device, which the host knows. */
export interface PublishedDevice {
  readonly slug: string;
  /** Metrics of its last birth message; undefined when the host takes the device for dead. */
  born: ReadonlyMap<string, Datatype> | undefined;
  /** Its attributes may have changed since. */
  isChanged: boolean;
  readonly metrics: Map<string, PublishedMetric>;
}

/** The newest value. */
interface PublishedMetric {
  datatype: Datatype;
  timestampMs: EpochMs;
  value: SparkplugMetric['value'];
}

const DATATYPE_OF: Readonly<Record<string, Datatype>> = {
  float: DATATYPES.DOUBLE,
  integer: DATATYPES.INT64,
  boolean: DATATYPES.BOOLEAN,
};

/** Types without a datatype of their own are sent as JSON. */
const datatypeOf = (type: string): Datatype => DATATYPE_OF[type] ?? DATATYPES.STRING;

/** A later sample comes from a clock that was wrong, and makes no other sample late. */
const newestMsOf = (published: PublishedMetric | undefined, currentToMs: EpochMs): EpochMs =>
  published && published.timestampMs <= currentToMs ? published.timestampMs : 0;

/** Notes the latest value of an attribute, whether it was published or not. */
export function noteLatest(
  { metrics }: PublishedDevice,
  [name, { type }]: readonly [name: string, attribute: CompiledAttribute],
  latest: Latest | undefined,
  currentToMs: EpochMs,
): void {
  const timestampMs = (latest?.timestampS ?? 0) * 1_000;
  if (!latest || timestampMs <= newestMsOf(metrics.get(name), currentToMs)) return;
  const datatype = datatypeOf(type);
  const isText = datatype === DATATYPES.STRING && type !== 'string';
  const value = isText ? exactJson(latest.value) : (latest.value as PublishedMetric['value']);
  metrics.set(name, { datatype, timestampMs, value });
}

/** All metrics of a device, with the newest value where one is known. */
export function birthMetrics(
  { metrics }: PublishedDevice,
  declared: readonly (readonly [name: string, attribute: CompiledAttribute])[],
  nowMs: EpochMs,
): SparkplugMetric[] {
  const units = new Map(declared.map(([name, { unit }]) => [name, unit]));
  const all = new Map<string, PublishedMetric>(
    declared.map(([name, { type }]) => [
      name,
      { datatype: datatypeOf(type), timestampMs: nowMs, value: null },
    ]),
  );
  for (const [name, published] of metrics) all.set(name, published);
  return [...all].map(([name, metric]) => ({ name, ...metric, unit: units.get(name) }));
}

/**
 * The samples of one device by time, noted as published; `hasNew`: a birth message must name a metric first.
 * Only the newest sample of a metric is its current value, and only if it is recent; all others are historical.
 */
export function dataMetrics(
  { metrics: published, born }: PublishedDevice,
  series: readonly LabelledSamples[],
  current: { fromMs: EpochMs; toMs: EpochMs },
): { metrics: SparkplugMetric[]; hasNew: boolean } {
  const metrics: SparkplugMetric[] = [];
  let hasNew = false;
  for (const samples of series) {
    const { attribute: name, type, times } = samples;
    const datatype = datatypeOf(type);
    const known = published.get(name);
    if (born?.get(name) !== datatype) hasNew = true;
    const lastS = times.findLast((timestampS) => timestampS * 1_000 <= current.toMs) ?? 0;
    const newestMs = Math.max(newestMsOf(known, current.toMs), lastS * 1_000);
    for (const [index, timestampS] of times.entries()) {
      const timestampMs = timestampS * 1_000;
      const value = valueAt(samples, index);
      const isHistorical = timestampMs !== newestMs || timestampMs < current.fromMs;
      metrics.push({ name, timestampMs, datatype, value, isHistorical });
      if (timestampMs === newestMs) published.set(name, { datatype, timestampMs, value });
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
