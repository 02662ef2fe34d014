/** Reading telemetry: the values of now, and what the store has. */
import type { Limits } from '../../lib/limits.ts';
import type { Journal } from '../../platform/journal/index.ts';
import type { Device } from '../devices/index.ts';
import { type AmountMinutes, parseAmountLines } from './amount-lines.ts';
import type { LatestValues } from './latest.ts';
import type { Plans } from './plans.ts';
import { ALL_IN_ONE, type QueryPlan } from './query-plan.ts';
import type { QueryResolver } from './resolve-query.ts';
import { parseSampleLines } from './sample-lines.ts';
import type { SeriesRegistry } from './series-registry.ts';
import type { Telemetry, TelemetryOptions } from './telemetry.ts';

/** What reading needs of the parts that exist while telemetry runs. */
interface Known {
  journal: Journal | undefined;
  registry: SeriesRegistry;
  plans: Plans;
  latest: LatestValues;
  resolver: QueryResolver;
}

/** What can be asked of the values of now and of the history. */
export function createReading(
  { clock, devices, history }: Pick<TelemetryOptions, 'clock' | 'devices' | 'history'>,
  limits: Limits['telemetry'],
  requireRunning: () => Known,
): Pick<
  Telemetry,
  | 'expedite'
  | 'damagedSegments'
  | 'unknownDeviceIds'
  | 'latest'
  | 'latestOfDevice'
  | 'latestOfDevices'
  | 'queryTimeSeries'
  | 'aggregate'
  | 'samples'
  | 'amounts'
> {
  return {
    expedite: () => requireRunning().journal?.expedite(),
    unknownDeviceIds: () =>
      requireRunning()
        .registry.deviceIds()
        .filter((id) => !devices.get(id)),
    damagedSegments: () => requireRunning().journal?.damagedSegments() ?? [],
    latest: (device, attribute) => requireRunning().latest.value(device, attribute),
    latestOfDevice: (device, attributes, relevanceMs, role) =>
      requireRunning().latest.ofDevice(device, attributes, relevanceMs, role),
    latestOfDevices: (wanted, relevanceMs, role) =>
      requireRunning().latest.ofDevices(wanted, relevanceMs, role),
    queryTimeSeries: (query, role, signal) => {
      const { plan, header, types } = requireRunning().resolver.resolve(query, role);
      return { types, text: withHeader(header, history.rows(plan, signal)) };
    },
    aggregate: async (device, attribute, kind, windowMs, endMs = clock.wallMs()) => {
      const plan = aggregatePlan(requireRunning(), device, attribute, kind, {
        fromS: Math.floor((endMs - windowMs) / 1_000),
        toS: Math.floor(endMs / 1_000) + 1,
      });
      if (!plan) return undefined;
      const cell = (await textOf(history.rows(plan, NEVER))).trim().split(',')[1];
      return cell ? Number(cell) : undefined;
    },
    samples: async (device, attribute, fromS, toS) => {
      const series = requireRunning().plans.of(device).attributes.get(attribute)?.state?.series;
      if (!series) return { before: undefined, samples: [], isComplete: true };
      const { readSamples: samplesMax, readBytes: bytesMax } = limits;
      const plan = { seriesId: series.id, fromS, toS, samplesMax, bytesMax };
      return parseSampleLines(await textOf(history.rows(plan, NEVER)), series.type);
    },
    amounts: ({ columns, ...range }, signal) => {
      const { plans } = requireRunning();
      const amounts = columns.map(({ device, attribute, ...column }) => ({
        ...column,
        seriesId: plans.of(device).attributes.get(attribute)?.state?.series.id,
      }));
      return minutesOf(history.rows({ ...range, amounts }, signal), columns.length);
    },
  };
}

const NEVER = new AbortController().signal;

function aggregatePlan(
  { plans }: Pick<Known, 'plans'>,
  device: Device,
  attribute: string,
  aggregation: 'avg' | 'min' | 'max',
  range: { fromS: number; toS: number },
): QueryPlan | undefined {
  const seriesId = plans.of(device).attributes.get(attribute)?.state?.series.id;
  if (seriesId === undefined) return undefined;
  const column = { kind: 'number', gapMethod: 'none', lookAroundS: 0, type: 'float' } as const;
  return { ...range, ...ALL_IN_ONE, columns: [{ ...column, seriesId, aggregation }] };
}

async function* minutesOf(pieces: AsyncGenerator<string>, columns: number): AsyncGenerator<AmountMinutes> {
  for await (const piece of pieces) yield parseAmountLines(piece, columns);
}

async function textOf(pieces: AsyncGenerator<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

async function* withHeader(header: string, rows: AsyncGenerator<string>): AsyncGenerator<string> {
  yield header;
  yield* rows;
}
