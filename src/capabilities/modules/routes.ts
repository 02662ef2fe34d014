import { route, type Route } from '../../platform/http/index.ts';
import { lineOf, SCAN_ANSWER, scanBody, type ScanLine, testBody, testOf, testShape } from './schema.ts';
import type { Scan, ScanOrder } from './scans.ts';
import type { Modules } from './service.ts';

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
          return { test: testOf(await firstLine(scan, order, signal)) };
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

async function firstLine(scan: Scan, order: ScanOrder, signal: AbortSignal): Promise<ScanLine> {
  const event = await scan.next();
  // It was closed without an event, because the caller left.
  if (event === undefined) throw signal.reason;
  return lineOf(event, order);
}

async function* linesOf(scan: Scan, order: ScanOrder): AsyncGenerator<string> {
  for (let event = await scan.next(); event !== undefined; event = await scan.next())
    yield `${JSON.stringify(lineOf(event, order))}\n`;
}
