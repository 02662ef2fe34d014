/** HTTP and WebSocket operations of telemetry (docs/interface/http.md#latest-values and docs/interface/http.md#streams). */
import type * as v from 'valibot';
import { gatewayError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { formatTimestamp } from '../../lib/time.ts';
import {
  type Call,
  type Route,
  route,
  type Stream,
  stream,
  type StreamSocket,
} from '../../platform/http/index.ts';
import { writableJson } from '../../lib/json.ts';
import type { CompiledManifest } from '../blueprints/index.ts';
import { devicePaths, type Devices } from '../devices/index.ts';
import { mayRead } from './intake/latest.ts';
import * as wire from './schema.ts';
import type { Telemetry, TimeSeriesAnswer } from './service.ts';
import type { TelemetryEvents } from './intake/events.ts';

const QUERY_ERRORS = [
  '404 telemetrypersistence/NO_TELEMETRY_ATTRIBUTES_FOUND',
  '406 not_acceptable',
  '422 aggregation_not_supported',
  '422 query_too_large',
];

/** HTTP operations on telemetry. */
export function telemetryRoutes(telemetry: Telemetry, devices: Devices): Route[] {
  return [
    route({
      operation: 'get_latest_telemetry',
      about:
        'The latest values of several devices; an attribute without a value within the interval gets a warning.',
      answer: wire.telemetryShapes.latest,
      GET: ['/v3/telemetry/latest'],
      role: 'READONLY',
      query: wire.LatestQuery,
      handle: ({ query, principal }) => {
        const answers = telemetry.latestOfDevices(query.devices, query.relevance_interval, principal.role);
        return { telemetry: wire.latestOfDevices(answers) };
      },
    }),
    route({
      operation: 'get_device_latest_telemetry',
      about: 'The latest values of one device; without names all attributes of its manifest.',
      answer: wire.telemetryShapes.deviceLatest,
      GET: devicePaths('/telemetry'),
      role: 'READONLY',
      query: wire.DeviceLatestQuery,
      handle: (call) => {
        const device = devices.require(call.param('device_id'));
        const { 'attribute.in': names, relevance_interval: relevanceMs } = call.query;
        const answer = telemetry.latestOfDevice(device, names, relevanceMs, call.principal.role);
        return { telemetry: wire.latestOnWire(answer) };
      },
    }),
    route({
      operation: 'query_timeseries',
      about: 'Aggregated series as CSV. The header Accept must admit text/csv.',
      answer: wire.telemetryShapes.series,
      isReading: true,
      POST: ['/v3/telemetry/query_timeseries'],
      role: 'READONLY',
      body: wire.TimeSeriesQuery,
      errors: QUERY_ERRORS,
      handle: (call) => {
        requireCsv(call.header('accept'));
        return csvAnswer(call, telemetry.queryTimeSeries(call.body, call.principal.role, call.signal));
      },
    }),
    route({
      operation: 'import_telemetry',
      about: 'Imports exported CSV: the first column is `ts`, the others are named as in a query.',
      bodyMedia: ['text/csv', 'application/octet-stream'],
      answer: wire.telemetryShapes.imported,
      POST: ['/v3/telemetry/import'],
      role: 'OWNER',
      body: 'stream',
      bodyBytes: LIMITS.telemetry.importBytes,
      errors: ['400 invalid_body', '404 device_not_found', '413 payload_too_large'],
      handle: async (call) => ({ import: await telemetry.importCsv(call.stream()) }),
    }),
  ];
}

/**
 * Among several matching ranges the narrowest counts (RFC 9110 section 12.5.1).
 * @throws GatewayError not_acceptable, when the header is absent or does not admit text/csv
 */
function requireCsv(accept: string | undefined): void {
  const qualities = new Map<string, number>();
  for (const range of (accept ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1;
    qualities.set(type, Math.max(Number(quality) || 0, qualities.get(type) ?? 0));
  }
  const narrowest = ['text/csv', 'text/*', '*/*'].find((type) => qualities.has(type));
  if (narrowest !== undefined && qualities.get(narrowest) !== 0) return;
  throw gatewayError('not_acceptable', 'not_acceptable', 'The header Accept must admit text/csv.');
}

const TYPES_BY_LINE = 'X-Enapter-Timeseries-Data-Types';

function csvAnswer(call: Call, { types, csv }: TimeSeriesAnswer): Response {
  // One client of the interface reads one line per column, another one the lines joined by commas.
  call.repeatHeader(TYPES_BY_LINE, types);
  const headers = {
    'content-type': 'text/csv',
    'cache-control': 'no-store',
    'x-service-timeseries-data-types': types.join(','),
  };
  return call.streamed(csv, headers);
}

/** The WebSocket stream of latest values. */
export function telemetryStreams(telemetry: Telemetry, devices: Devices): Stream[] {
  return [
    stream({
      operation: 'stream_device_telemetry',
      about: 'Telemetry of a device as it arrives, one message per received message.',
      message: wire.telemetryShapes.message,
      paths: devicePaths('/telemetry'),
      role: 'READONLY',
      query: wire.StreamQuery,
      open: (call) => {
        const { query, principal } = call;
        const device = devices.require(call.param('device_id'));
        const wanted = query['attribute.in'] && new Set(query['attribute.in']);
        return (socket) => {
          const namesOf = (manifest: CompiledManifest, name: string): string[] => {
            if (!mayRead(manifest, name, principal.role)) return [];
            const aliases = manifest.telemetry[name]?.aliases ?? [];
            return wanted ? [name, ...aliases].filter((each) => wanted.has(each)) : [name];
          };
          return [
            telemetry.events.on('telemetry_received', 'telemetry stream', (event) => {
              if (event.device.id !== device.id) return;
              // The blueprint may have been replaced since the stream was opened.
              const manifest = devices.manifest(event.device);
              sendMessage(socket, event, (name) => namesOf(manifest, name));
            }),
            devices.events.on('device_deleted', 'telemetry stream', (event) => {
              if (event.device.id === device.id) socket.close(1008, 'the device was deleted');
            }),
          ];
        };
      },
    }),
  ];
}

function sendMessage(
  socket: StreamSocket<v.InferOutput<typeof wire.telemetryShapes.message>>,
  { device, timestampS, receivedAtMs, values }: TelemetryEvents['telemetry_received'],
  /** Names under which an attribute is sent; none: it is not sent. */
  namesOf: (attribute: string) => string[],
): void {
  const shown: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [attribute, { value }] of values)
    for (const name of namesOf(attribute)) shown[name] = writableJson(value);
  if (Object.keys(shown).length > 0)
    socket.send({
      device_id: device.id,
      received_at: formatTimestamp(receivedAtMs),
      timestamp: timestampS,
      telemetry: shown,
    });
}
