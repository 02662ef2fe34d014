import * as v from 'valibot';
import { notFound } from '../../lib/errors.ts';
import { attachment, query, route, type Route } from '../../platform/http/index.ts';
import { type Device, devicePaths, type Devices } from '../devices/index.ts';
import {
  lineOf,
  readBody,
  readOf,
  readShape,
  SCAN_ANSWER,
  scanBody,
  testBody,
  testOf,
  testShape,
  traceBody,
  traceShape,
  traceToWire,
} from './schema.ts';
import type { Scan, ScanEnd, ScanOrder, ScanUnit } from './scans.ts';
import type { Modules } from './service.ts';
import { traceImage } from './trace-image.ts';

const ERRORS = [
  '400 invalid_body',
  '404 device_not_found',
  '409 scan_active',
  '422 device_offline',
  '422 invalid_runtime',
];

/** Operations that look for units behind addresses and on serial lines: an extension of the interface. */
export function scanRoutes(modules: Pick<Modules, 'scan'>): Route[] {
  return [
    route({
      operation: 'test_modbus_connection',
      about: 'Tests whether a Modbus unit answers and what it is; the result includes a sentence.',
      answer: testShape,
      isReading: true,
      POST: ['/v3/modbus/test'],
      role: 'INSTALLER',
      body: testBody,
      errors: ERRORS,
      handle: async ({ body: { runtime, order }, signal }) => {
        const scan = await modules.scan(runtime, order, signal);
        try {
          return { test: testOf(lineOf(await firstEvent(scan, signal), order)) };
        } finally {
          scan.close();
        }
      },
    }),
    route({
      operation: 'read_modbus_registers',
      about: 'Reads registers of one unit, whether there is a device for it or not. Writes nothing.',
      answer: readShape,
      isReading: true,
      POST: ['/v3/modbus/read'],
      role: 'INSTALLER',
      body: readBody,
      errors: ERRORS,
      handle: async ({ body: { runtime, order }, signal }) => {
        const scan = await modules.scan(runtime, order, signal);
        try {
          return { read: readOf(await firstEvent(scan, signal), order) };
        } finally {
          scan.close();
        }
      },
    }),
    route({
      operation: 'scan_modbus',
      about: 'Searches for Modbus units one after the other. Closing the connection ends the scan.',
      answer: SCAN_ANSWER,
      isReading: true,
      POST: ['/v3/modbus/scan'],
      role: 'INSTALLER',
      body: scanBody,
      errors: ERRORS,
      handle: async (call) => {
        const { runtime, order } = call.body;
        const scan = await modules.scan(runtime, order, call.signal);
        const headers = {
          'content-type': SCAN_ANSWER.mediaType,
          'cache-control': 'no-store',
          // nginx would pass on nothing before the end.
          'x-accel-buffering': 'no',
        };
        return call.streamed(linesOf(scan, order), headers);
      },
    }),
  ];
}

async function firstEvent(scan: Scan, signal: AbortSignal): Promise<ScanUnit | ScanEnd> {
  const event = await scan.next();
  // It was closed without an event, because the caller left.
  if (event === undefined) throw signal.reason;
  return event;
}

async function* linesOf(scan: Scan, order: ScanOrder): AsyncGenerator<string> {
  for (let event = await scan.next(); event !== undefined; event = await scan.next())
    yield `${JSON.stringify(lineOf(event, order))}\n`;
}

const IMAGE = 'application/yaml';
const traceQuery = v.object({
  after: query.number('Only exchanges with a greater number, for whoever asks again and again.'),
});

/** Operations on field traces of devices: an extension of the interface. */
export function traceRoutes({
  modules,
  devices,
}: {
  modules: Pick<Modules, 'traces'>;
  devices: Pick<Devices, 'require'>;
}): Route[] {
  const deviceOf = (call: { param: (name: string) => string }): Device =>
    devices.require(call.param('device_id'));
  return [
    route({
      operation: 'start_device_trace',
      about:
        'Records what a device is asked and answers, in memory; ends by itself. The trace of before is forgotten.',
      answer: traceShape,
      POST: devicePaths('/trace'),
      role: 'INSTALLER',
      body: traceBody,
      errors: ['422 device_not_traceable', '422 trace_limit_reached'],
      handle: (call) => {
        const durationMs = call.body.duration_s * 1_000;
        return { trace: traceToWire(modules.traces.start(deviceOf(call), durationMs)) };
      },
    }),
    route({
      operation: 'get_device_trace',
      about: 'Requests and answers of a device since its trace began. Logins and secrets are removed.',
      answer: traceShape,
      GET: devicePaths('/trace'),
      role: 'INSTALLER',
      query: traceQuery,
      handle: (call) => ({ trace: traceToWire(modules.traces.of(deviceOf(call)), call.query.after) }),
    }),
    route({
      operation: 'stop_device_trace',
      about: 'Ends the trace; what it has recorded stays until the next one.',
      answer: traceShape,
      POST: devicePaths('/trace/stop'),
      role: 'INSTALLER',
      errors: ['404 trace_not_found'],
      handle: (call) => ({ trace: traceToWire(modules.traces.stop(deviceOf(call))) }),
    }),
    route({
      operation: 'get_device_trace_image',
      about:
        'The newest answers of a traced device as an image, which `npm run simulate-modbus` and `try-template` play back.',
      answer: { mediaType: IMAGE, about: 'A list of images, as the tests of the library have them.' },
      GET: devicePaths('/trace/image'),
      role: 'INSTALLER',
      errors: ['404 trace_not_found'],
      handle: (call) => {
        const device = deviceOf(call);
        const image = traceImage(device.name, modules.traces.of(device)?.exchanges ?? []);
        if (image === undefined)
          throw notFound(
            'trace_not_found',
            `No answer of "${device.name}" was recorded that can be played back.`,
          );
        return attachment(image, IMAGE, `${device.slug}-image.yml`);
      },
    }),
  ];
}
