/** From a query to its plan and header: names, matchers, roles, costs (docs/interface/http.md#time-series). */
import {
  type Aggregation,
  allowedAggregations,
  columnType,
  type ColumnType,
  type GapMethod,
  kindOf,
  type PlannedColumn,
  type QueryPlan,
  resolveAggregation,
} from '#telemetry-store';
import { DAY_S, type DurationMs, type DurationS, type EpochS, formatDurationMs } from '../../lib/time.ts';
import { errorOfProblems, gatewayError, invalidBody, type Problem, unprocessable } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Role } from '../../lib/role.ts';
import type { TelemetryType } from '../../protocol/telemetry.ts';
import type { CompiledAttribute, CompiledManifest } from '../blueprints/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import { declaredAttribute, type IngestPlans } from './intake/ingest-plans.ts';
import { mayRead } from './intake/latest.ts';
import type { SeriesRegistry } from './intake/series-registry.ts';
import type { GapFilling, Matcher, TelemetryItem, TimeSeriesQuery } from './schema.ts';

interface ResolvedQuery {
  plan: QueryPlan;
  /** First line of the answer, with its line end. */
  header: string;
  types: readonly ColumnType[];
}

interface QueryResolverOptions {
  devices: Pick<Devices, 'all' | 'find' | 'manifest'>;
  plans: Pick<IngestPlans, 'of'>;
  registry: Pick<SeriesRegistry, 'find'>;
  limits: Limits['telemetry'];
  /** The one site, for matchers. */
  site: () => { id: string; name: string; timezone: string };
}

interface FoundAttribute {
  device: Device;
  name: string;
  /** The name or alias in the query. */
  asked: string;
  type: TelemetryType;
}

export class QueryResolver {
  readonly #options: QueryResolverOptions;

  constructor(options: QueryResolverOptions) {
    this.#options = options;
  }

  /** @throws GatewayError invalid_body, aggregation_not_supported, query_too_large, NO_TELEMETRY_ATTRIBUTES_FOUND */
  resolve(query: TimeSeriesQuery, role: Role): ResolvedQuery {
    const range = rangeOf(query);
    const columns: PlannedColumn[] = [];
    const heads: string[] = [];
    const problems: Problem[] = [];
    const granularity = formatDurationMs(range.granularityS * 1_000);
    const compare = boundedBy(this.#options.limits.queryComparisons);
    for (const item of this.#siteMatches(query.site) ? query.telemetry : [])
      for (const device of this.#devicesOf(item, compare))
        for (const attribute of this.#attributesOf(item, device, role, compare)) {
          if (columns.length >= this.#options.limits.queryColumns)
            throw tooLarge(`more than ${this.#options.limits.queryColumns} columns`);
          const aggregation = item.aggregation ?? query.aggregation ?? 'auto';
          const problem = aggregationProblem(attribute, aggregation);
          // Many devices with the attribute have the same problem.
          if (problem && !problems.some(({ message }) => message === problem.message)) problems.push(problem);
          const gap = gapOf(item.gap_filling ?? query.gap_filling);
          const column = this.#columnOf(attribute, aggregation, gap);
          const isExactText = query.text_format === 'json' && column.type === 'string';
          columns.push({ ...column, isExactText });
          heads.push(headOf(attribute, aggregation, granularity, gap) + (isExactText ? EXACT_TEXT : ''));
        }
    const refused = errorOfProblems('unprocessable', problems);
    if (refused) throw refused;
    if (columns.length === 0)
      throw gatewayError(
        'not_found',
        'telemetrypersistence/NO_TELEMETRY_ATTRIBUTES_FOUND',
        'No telemetry attributes were found.',
      );
    this.#checkCost(range, columns.length);
    const bucketEdgesS =
      query.timezone === 'site' ? localDayEdges(this.#options.site().timezone, range) : undefined;
    return {
      plan: { ...range, ...(bucketEdgesS && { bucketEdgesS }), columns },
      header: `${['ts', ...heads].join(',')}\n`,
      types: columns.map((column) => column.type),
    };
  }

  #siteMatches(site: TimeSeriesQuery['site']): boolean {
    if (site === null || site === undefined) return true;
    const { id, name } = this.#options.site();
    if (typeof site === 'string') return site === id;
    return matches(site, (key) => [key === 'id' ? id : name]);
  }

  #devicesOf(item: TelemetryItem, compare: () => void): Device[] {
    if (!item.device) return [...this.#options.devices.all()];
    const found = new Set<Device>();
    for (const wanted of item.device) {
      if (typeof wanted === 'string') {
        const device = this.#options.devices.find(wanted);
        if (device) found.add(device);
        continue;
      }
      for (const device of this.#options.devices.all()) {
        compare();
        if (matches(wanted, (key) => deviceLabel(device, this.#options.devices.manifest(device), key)))
          found.add(device);
      }
    }
    return [...found].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  #attributesOf(item: TelemetryItem, device: Device, role: Role, compare: () => void): FoundAttribute[] {
    const plan = this.#options.plans.of(device);
    const { manifest } = plan;
    const names = new Map<string, string>();
    for (const wanted of item.attribute) {
      if (typeof wanted === 'string') {
        compare();
        const name = declaredAttribute(plan, wanted)?.attribute;
        if (name !== undefined) names.set(wanted, name);
        continue;
      }
      for (const [name, attribute] of Object.entries(manifest.telemetry)) {
        compare();
        if (matches(wanted, (key) => attributeLabel(name, attribute, key))) names.set(name, name);
      }
    }
    return [...names]
      .filter(([, name]) => mayRead(manifest, name, role))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([asked, name]) => ({ device, name, asked, type: manifest.telemetry[name]?.type ?? 'alerts' }));
  }

  #columnOf(
    { device, name, type }: FoundAttribute,
    asked: Aggregation,
    gap: { method: GapMethod; lookAroundMs: DurationMs },
  ): PlannedColumn {
    const aggregation = resolveAggregation(asked, type);
    const kind = kindOf(type);
    // Only numbers can be interpolated; the others are carried forward.
    const gapMethod = gap.method === 'interpolation' && kind !== 'number' ? 'locf' : gap.method;
    return {
      seriesId: this.#options.registry.find(device.id, name, type)?.series.id,
      kind,
      aggregation,
      gapMethod,
      lookAroundS: Math.ceil(gap.lookAroundMs / 1_000),
      type: columnType(type, aggregation, gapMethod),
      isJson: kind === 'text' && type !== 'string',
    };
  }

  #checkCost(range: { fromS: EpochS; toS: EpochS; granularityS: DurationS }, columns: number): void {
    // The buckets that the range touches, aligned to the epoch.
    const bucketOf = (seconds: number): number => Math.floor(seconds / range.granularityS);
    const buckets = bucketOf(Math.max(range.toS - 1, range.fromS)) - bucketOf(range.fromS) + 1;
    const { queryBuckets, queryCells } = this.#options.limits;
    if (buckets > queryBuckets) throw tooLarge(`${buckets} buckets, more than ${queryBuckets}`);
    if (buckets * columns > queryCells) throw tooLarge(`${buckets * columns} cells, more than ${queryCells}`);
  }
}

function tooLarge(size: string): Error {
  return unprocessable(
    'query_too_large',
    `The answer would have ${size}; ask for a coarser granularity, a shorter time or less attributes.`,
  );
}

/** To be called for each comparison; @throws GatewayError query_too_large after `most` of them */
function boundedBy(most: number): () => void {
  let left = most;
  return () => {
    if (left-- > 0) return;
    throw unprocessable(
      'query_too_large',
      'Too many devices and attributes would have to be compared with those that are asked for; name fewer.',
    );
  };
}

function rangeOf(query: TimeSeriesQuery): { fromS: EpochS; toS: EpochS; granularityS: DurationS } {
  // Samples have whole seconds.
  const fromS = Math.ceil(query.from);
  const toS = Math.ceil(query.to);
  if (query.to <= query.from) throw invalidBody('to', 'Field "to" must be later than "from".');
  return { fromS, toS, granularityS: Math.max(1, Math.floor(query.granularity / 1_000)) };
}

function gapOf(gap: GapFilling | null | undefined): { method: GapMethod; lookAroundMs: DurationMs } {
  return { method: gap?.method ?? 'none', lookAroundMs: gap?.look_around ?? 0 };
}

function aggregationProblem(attribute: FoundAttribute, aggregation: Aggregation): Problem | undefined {
  const allowed = allowedAggregations(attribute.type);
  if (allowed.includes(aggregation)) return undefined;
  return {
    code: 'aggregation_not_supported',
    message:
      `Attribute "${attribute.name}" is of type ${attribute.type}: aggregation ${aggregation} is not ` +
      `possible, allowed are ${allowed.join(', ')}.`,
    details: { attribute: attribute.name, type: attribute.type, aggregation },
  };
}

/** In the head of a column: how it is written. */
const EXACT_TEXT = ' text_format=json';

function headOf(
  { device, asked }: FoundAttribute,
  aggregation: Aggregation,
  granularity: string,
  gap: { method: GapMethod; lookAroundMs: DurationMs },
): string {
  return [
    `telemetry=${asked}`,
    `device=${device.id}`,
    `aggregation=${aggregation}`,
    `granularity=${granularity}`,
    `gap_filling_method=${gap.method}`,
    `gap_filling_look_around=${formatDurationMs(gap.lookAroundMs)}`,
  ].join(' ');
}

/** Every key must have one of its values; no key at all matches everything. */
function matches(matcher: Matcher, labels: (key: string) => readonly (string | undefined)[]): boolean {
  return Object.entries(matcher).every(([key, wanted]) =>
    labels(key).some((label) => label !== undefined && wanted.includes(label)),
  );
}

function deviceLabel(
  { id, slug, name, type, blueprintId }: Device,
  manifest: CompiledManifest,
  key: string,
): readonly (string | undefined)[] {
  if (key === 'profile') return manifest.implements;
  const labels: Record<string, string> = { id, slug, name, type, blueprint_id: blueprintId };
  return [labels[key]];
}

function attributeLabel(
  name: string,
  attribute: CompiledAttribute,
  key: string,
): readonly (string | undefined)[] {
  if (key === 'name') return [name, ...attribute.aliases];
  if (key === 'profile') return attribute.implements;
  return [key === 'type' ? attribute.type : attribute.unit];
}

// Days of a time zone as instants: they have 23 to 25 hours, and a few begin later than at midnight.

/** No zone is farther from UTC. */
const OFFSET_MAX_S = 15 * 3_600;
/** 9999-12-31, after every range; calendars end some time after it. */
const LAST_DAY = 2_932_896;

/**
 * Edges of buckets of whole local days that touch [fromS, toS): the start of each, and the end of the last. Buckets of
 * several days are counted from 1970-01-01, as those of UTC are. Undefined when the granularity is not of whole days.
 */
export function localDayEdges(
  timeZone: string,
  { fromS, toS, granularityS }: { fromS: EpochS; toS: EpochS; granularityS: DurationS },
): number[] | undefined {
  const days = granularityS / DAY_S;
  if (!Number.isInteger(days)) return undefined;
  const dayOf = localDayOf(timeZone);
  const edges: number[] = [];
  /** Until then the offset of the zone does not change. */
  let steadyUntilS: EpochS = Number.NEGATIVE_INFINITY;
  for (let day = Math.floor(dayOf(fromS) / days) * days; ; day += days) {
    if (day > LAST_DAY) return [...edges, LAST_DAY * DAY_S];
    const usualS = (edges.at(-1) ?? Number.NaN) + granularityS;
    const isSteady = usualS < steadyUntilS;
    // The calendar of a zone is slow, and almost every day is as long as the one before.
    const isUsual = isSteady || (dayOf(usualS - 1) < day && dayOf(usualS) >= day);
    // A day that begins with a change of the clocks, as where midnight is skipped, is no model for the next one.
    if (isUsual && !isSteady) steadyUntilS = nextChangeS(timeZone, usualS - 1);
    const startS = isUsual ? usualS : startOfDay(day, dayOf);
    // A day that the zone skipped begins together with the next one.
    if (startS !== edges.at(-1)) edges.push(startS);
    if (startS >= toS) return edges;
  }
}

/** The next change of the zone's offset after this second; infinite when there is none. */
function nextChangeS(timeZone: string, atS: EpochS): EpochS {
  const at = new Temporal.ZonedDateTime(BigInt(atS) * 1_000_000_000n, timeZone);
  return (at.getTimeZoneTransition('next')?.epochMilliseconds ?? Number.POSITIVE_INFINITY) / 1_000;
}

/** Days since 1970-01-01 by the calendar of the zone. */
function localDayOf(timeZone: string): (atS: EpochS) => number {
  const format = new Intl.DateTimeFormat('en-US-u-ca-gregory', {
    timeZone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  });
  return (atS) => {
    if (Number.isNaN(atS)) return Number.NaN;
    const [month, day, year] = format
      .format(atS * 1_000)
      .split('/')
      .map(Number);
    return Date.UTC(year ?? Number.NaN, (month ?? Number.NaN) - 1, day) / 1_000 / DAY_S;
  };
}

/** The first second of the day, also where its midnight is skipped. */
function startOfDay(day: number, dayOf: (atS: EpochS) => number): number {
  let before = day * DAY_S - OFFSET_MAX_S;
  let within = day * DAY_S + OFFSET_MAX_S;
  while (within - before > 1) {
    const middle = Math.floor((before + within) / 2);
    if (dayOf(middle) >= day) within = middle;
    else before = middle;
  }
  return within;
}
