import { route, type Route } from '../../platform/http/index.ts';
import type { EventQueue } from './event-queue.ts';
import type { SearchEvent } from './model.ts';
import { lineOf, readBody, readShape, readToWire, SEARCH_ANSWER, searchBody } from './schema.ts';
import type { DeviceSearch } from './service.ts';

/** The search for devices on the gateway's networks, and a look at one answer: an extension of the interface. */
export function deviceSearchRoutes(search: DeviceSearch): Route[] {
  return [
    route({
      operation: 'search_devices',
      about:
        'Searches the networks and serial lines of the gateway for devices that the library knows. Only reads. Closing the connection ends the search.',
      answer: SEARCH_ANSWER,
      isReading: true,
      POST: ['/v3/library/search'],
      role: 'INSTALLER',
      body: searchBody,
      errors: ['400 invalid_body', '409 scan_active'],
      handle: (call) =>
        call.streamed(linesOf(search.start(call.body, call.signal)), {
          'content-type': SEARCH_ANSWER.mediaType,
          'cache-control': 'no-store',
          // nginx would pass on nothing before the end.
          'x-accel-buffering': 'no',
        }),
    }),
    route({
      operation: 'read_http_json',
      about:
        'Reads JSON from a device in a network of the gateway, whether the library knows it or not. GET only.',
      answer: readShape,
      isReading: true,
      POST: ['/v3/http/read'],
      role: 'INSTALLER',
      body: readBody,
      errors: ['400 invalid_body'],
      handle: async ({ body: { url }, signal }) => ({ read: readToWire(await search.read(url, signal)) }),
    }),
  ];
}

async function* linesOf(events: EventQueue<SearchEvent>): AsyncGenerator<string> {
  for (let event = await events.next(); event !== undefined; event = await events.next())
    yield `${JSON.stringify(lineOf(event))}\n`;
}
