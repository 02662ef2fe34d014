/**
 * Requests and answers of telemetry on the wire (docs/interface/http.md#latest-values and
 * docs/interface/http.md#time-series).
 */
import * as v from 'valibot';
import { parseDurationMs, parseInstantMs } from '../../lib/time.ts';
import { LIMITS } from '../../lib/limits.ts';
import { type MediaAnswer, query, shape } from '../../platform/http/index.ts';
import { writableJson } from '../../lib/json.ts';
import type { LatestAnswer } from './intake/latest.ts';
import { AGGREGATIONS, GAP_METHODS, TEXT_FORMATS, ZONES } from '#telemetry-store';

const { telemetry } = LIMITS;

const relevanceInterval = () =>
  query.durationMs(
    telemetry.relevanceIntervalDefaultMs,
    telemetry.relevanceIntervalMs,
    'Older values come as a warning.',
  );

const DEVICES_PARAMETER = /^devices\[([^\]]+)\]$/;

const Latest = v.object({
  devices: v.pipe(
    v.map(v.string(), v.array(v.string())),
    v.check(
      (devices) => latestFault(devices) === undefined,
      (issue) => latestFault(issue.input) ?? '',
    ),
  ),
  relevance_interval: relevanceInterval(),
});

/** `devices[<id or slug>]=a,b` for each device, and `relevance_interval`. */
export const LatestQuery = v.pipe(
  v.record(v.string(), v.array(v.string())),
  shape.wire(
    v.object({
      devices: v.pipe(
        v.record(v.string(), v.string()),
        shape.wire({
          type: 'object',
          additionalProperties: { type: 'string' },
          minProperties: 1,
          maxProperties: telemetry.latestDevices,
          description: 'Id or slug of a device → names of attributes, by commas.',
          examples: [{ 'battery-1': 'battery_soc,status' }],
        }),
      ),
      relevance_interval: relevanceInterval(),
    }),
  ),
  v.transform((parameters): v.InferInput<typeof Latest> => ({
    devices: wantedDevices(parameters),
    relevance_interval: parameters['relevance_interval'],
  })),
  Latest,
);

function wantedDevices(parameters: Record<string, string[]>): Map<string, string[]> {
  const devices = new Map<string, string[]>();
  for (const [name, values] of Object.entries(parameters)) {
    const device = DEVICES_PARAMETER.exec(name)?.[1];
    if (device !== undefined) devices.set(device, splitNames(values));
  }
  return devices;
}

function latestFault(devices: ReadonlyMap<string, string[]>): string | undefined {
  if (devices.size === 0) return 'must name a device: devices[<id or slug>]=<attribute>,<attribute>';
  if (devices.size > telemetry.latestDevices)
    return `must not name more than ${telemetry.latestDevices} devices`;
  for (const attributes of devices.values())
    if (attributes.length > telemetry.latestAttributes)
      return `must not name more than ${telemetry.latestAttributes} attributes of a device`;
  return undefined;
}

function splitNames(values: readonly string[]): string[] {
  const names = values.flatMap((value) => value.split(',')).map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ''))];
}

export const DeviceLatestQuery = v.object({
  'attribute.in': v.pipe(
    query.optionalList('Only these attributes. Absent: all that are declared.'),
    v.check(
      (names) => names === undefined || names.length <= telemetry.latestAttributes,
      `must not name more than ${telemetry.latestAttributes} attributes`,
    ),
  ),
  relevance_interval: relevanceInterval(),
});

export const StreamQuery = v.object({
  'attribute.in': query.optionalList(
    'Only messages with one of these attributes, and only these of them. Absent: all.',
  ),
});

/** `{attribute: {value, timestamp} | {warning}}`. */
export function latestOnWire(answer: ReadonlyMap<string, LatestAnswer>) {
  return Object.fromEntries(
    [...answer].map(([attribute, latest]) => [
      attribute,
      'warning' in latest
        ? { warning: latest.warning }
        : { value: writableJson(latest.value), timestamp: latest.timestampS },
    ]),
  );
}

/** The same for several devices, by their names in the request. */
export function latestOfDevices(answers: ReadonlyMap<string, ReadonlyMap<string, LatestAnswer>>) {
  return Object.fromEntries([...answers].map(([device, answer]) => [device, latestOnWire(answer)]));
}

const latestValueShape = shape.named(
  'LatestValue',
  v.union([
    v.object({ value: v.unknown(), timestamp: shape.unixSeconds() }),
    v.object({ warning: v.string() }),
  ]),
  { value: 48.1, timestamp: 1_772_352_000 },
  { warning: 'Attribute not found.' },
);

export type LatestOnWire = v.InferOutput<typeof latestValueShape>;

const oneLatest = v.record(v.string(), latestValueShape);

/** Shapes of answers and messages, for the API description. */
export const telemetryShapes = {
  latest: v.pipe(
    v.object({ telemetry: v.record(v.string(), oneLatest) }),
    v.examples([{ telemetry: { 'battery-1': { voltage: { value: 48.1, timestamp: 1_772_352_000 } } } }]),
  ),
  deviceLatest: v.pipe(
    v.object({ telemetry: oneLatest }),
    v.examples([{ telemetry: { voltage: { value: 48.1, timestamp: 1_772_352_000 } } }]),
  ),
  series: {
    mediaType: 'text/csv',
    about:
      'One row per bucket: its start in Unix seconds, then one value per column, empty where there is none.',
    example:
      'ts,telemetry=voltage device=c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01 aggregation=avg granularity=1m0s ' +
      'gap_filling_method=none gap_filling_look_around=0s\n1772352000,48.125\n',
    headers: {
      'X-Service-Timeseries-Data-Types': 'Types of the columns by commas.',
      'X-Enapter-Timeseries-Data-Types': 'The same, one header line per column.',
    },
  } satisfies MediaAnswer,
  imported: v.object({
    import: v.object({
      rows: shape.count(),
      values: shape.about(shape.count(), 'Stored.'),
      rejected: shape.about(shape.count(), 'Do not fit their attribute.'),
    }),
  }),
  message: shape.named(
    'TelemetryMessage',
    v.object({
      device_id: shape.id(),
      received_at: shape.instant(),
      timestamp: shape.unixSeconds(),
      telemetry: shape.anyObject(),
    }),
    {
      device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01',
      received_at: '2026-03-01T08:00:00.123Z',
      timestamp: 1_772_352_000,
      telemetry: { voltage: 48.1 },
    },
  ),
};

// Time series query

const oneOrMany = <Schema extends v.GenericSchema>(schema: Schema, expectation?: string) =>
  v.pipe(
    // Arrays first: an empty one would pass as an empty matcher.
    v.union([v.array(schema), schema], expectation),
    v.transform((value): v.InferOutput<Schema>[] => {
      if (Array.isArray(value)) return value;
      return [value];
    }),
  );

/** Unix seconds, with fraction, as number or text; or RFC 3339. */
export const instantS = v.pipe(
  v.union([v.number(), v.string()], 'must be Unix seconds or an RFC 3339 timestamp'),
  shape.wire({
    anyOf: [
      { type: 'number', minimum: 0, maximum: telemetry.timeEndS },
      { type: 'string', format: 'date-time' },
    ],
    description: 'Unix seconds, or RFC 3339; without an offset it is UTC.',
    examples: ['2026-03-01T08:00:00Z'],
  }),
  shape.parsed((given: string | number) => {
    const seconds = (parseInstantMs(given) ?? -1) / 1_000;
    return seconds >= 0 && seconds <= telemetry.timeEndS ? seconds : undefined;
  }, 'Unix seconds or an RFC 3339 timestamp, from 1970 to 2100'),
);

const durationMs = v.pipe(
  v.string(),
  shape.wire(shape.WIRE.duration),
  shape.parsed(parseDurationMs, 'a duration such as 30s, 1.5m or 2h45m'),
);

const wordOf = <const Word extends string>(words: readonly Word[]) =>
  v.pipe(
    v.string(),
    shape.wire({ type: 'string', enum: words }),
    v.transform((value) => value.toLowerCase()),
    shape.oneOf(words),
  );

const GapFilling = shape.noList(
  v.object({
    method: v.nullish(wordOf(GAP_METHODS), 'none'),
    look_around: v.optional(v.nullable(durationMs)),
  }),
);
export type GapFilling = v.InferOutput<typeof GapFilling>;

const matcherOf = (keys: readonly string[]) =>
  v.pipe(
    shape.anyNames({ name: 'Meter' }),
    v.check(
      (matcher) => Object.keys(matcher).every((key) => keys.includes(key)),
      `must have only the keys: ${keys.join(', ')}`,
    ),
    shape.wire(
      v.strictObject(Object.fromEntries(keys.map((key) => [key, v.optional(oneOrMany(v.string()))]))),
    ),
    v.record(v.string(), oneOrMany(v.string())),
  );
export type Matcher = Record<string, string[]>;

const named = (what: string, keys: readonly string[]): string =>
  `must be ${what}, an object with only the keys ${keys.join(', ')}, or a list of these`;

const SITE_KEYS = ['id', 'name'] as const;
const DEVICE_KEYS = ['id', 'slug', 'name', 'type', 'blueprint_id', 'profile'] as const;
const ATTRIBUTE_KEYS = ['name', 'type', 'unit', 'profile'] as const;

const AGGREGATION_ABOUT =
  'How the values of a bucket become one. Default auto: avg for numbers, last for everything else.';

const TelemetryItem = shape.noList(
  v.object({
    device: v.nullish(
      oneOrMany(v.union([v.string(), matcherOf(DEVICE_KEYS)]), named('an id or slug', DEVICE_KEYS)),
    ),
    attribute: oneOrMany(v.union([v.string(), matcherOf(ATTRIBUTE_KEYS)]), named('a name', ATTRIBUTE_KEYS)),
    aggregation: shape.about(v.nullish(wordOf(AGGREGATIONS)), AGGREGATION_ABOUT),
    gap_filling: v.nullish(GapFilling),
  }),
);
export type TelemetryItem = v.InferOutput<typeof TelemetryItem>;

export const TimeSeriesQuery = v.pipe(
  v.object({
    from: instantS,
    to: instantS,
    granularity: v.nullish(durationMs, '1m'),
    aggregation: shape.about(v.nullish(wordOf(AGGREGATIONS)), AGGREGATION_ABOUT),
    gap_filling: v.nullish(GapFilling),
    site: v.nullish(
      v.union(
        [v.string(), matcherOf(SITE_KEYS)],
        `must be an id, or an object with only the keys ${SITE_KEYS.join(', ')}`,
      ),
    ),
    timezone: shape.about(
      v.nullish(wordOf(ZONES)),
      'Whose days buckets of whole days are: those of UTC, or those of the site, which have 23 to 25 hours. Default utc.',
    ),
    text_format: shape.about(
      v.nullish(wordOf(TEXT_FORMATS)),
      'plain: line breaks in text are blanks, and empty text looks like no value. json: text is JSON text, to be read back exactly. Default plain.',
    ),
    telemetry: v.pipe(
      v.array(TelemetryItem),
      v.minLength(1, 'must have at least one item'),
      v.maxLength(telemetry.queryItems, `must not have more than ${telemetry.queryItems} items`),
    ),
  }),
  shape.example({
    from: '2026-03-01T08:00:00Z',
    to: '2026-03-01T09:00:00Z',
    granularity: '1m',
    telemetry: [
      { device: 'battery-1', attribute: ['battery_soc', 'battery_power'], aggregation: 'avg' },
      { device: 'battery-1', attribute: 'status', gap_filling: { method: 'locf', look_around: '1h' } },
    ],
  }),
);
export type TimeSeriesQuery = v.InferOutput<typeof TimeSeriesQuery>;
