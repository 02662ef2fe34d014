/** Operations on device logs (docs/interface/http.md#device-logs) and their stream. */
import { route, type Route, stream, type Stream } from '../../platform/http/index.ts';
import { devicePaths, type Devices } from '../devices/index.ts';
import { passes } from './model.ts';
import * as wire from './schema.ts';
import type { DeviceLogs } from './service.ts';

interface RouteOptions {
  deviceLogs: DeviceLogs;
  devices: Devices;
}

/** HTTP operations on device logs. */
export function deviceLogRoutes({ deviceLogs, devices }: RouteOptions): Route[] {
  return [
    route({
      operation: 'get_device_logs',
      about: 'Entries counted back from the newest one, in the requested order.',
      answer: wire.logShapes.list,
      GET: devicePaths('/logs'),
      role: 'USER',
      query: wire.listQuery,
      handle: (call) => {
        const device = devices.require(call.param('device_id'));
        const { entries, totalCount } = deviceLogs.list(device, wire.listQueryOf(call.query));
        const withTimestamp = wire.showsTimestamp(call.header('user-agent'));
        return { logs: entries.map((entry) => wire.toWire(entry, withTimestamp)), total_count: totalCount };
      },
    }),
  ];
}

/** The WebSocket stream of device logs. */
export function deviceLogStreams({ deviceLogs, devices }: RouteOptions): Stream[] {
  return [
    stream({
      operation: 'stream_device_logs',
      about: 'Entries as they arrive; no history.',
      message: wire.logShapes.message,
      paths: [...devicePaths('/logs'), ...devicePaths('/logs/ws')],
      role: 'USER',
      query: wire.streamQuery,
      open: (call) => {
        const device = devices.require(call.param('device_id'));
        const filter = wire.filterOf(call.query);
        const withTimestamp = wire.showsTimestamp(call.header('user-agent'));
        return (socket) => [
          deviceLogs.events.on('entry_stored', 'log stream', ({ entry }) => {
            if (entry.deviceId === device.id && passes(entry, filter))
              socket.send(wire.toStreamMessage(entry, withTimestamp));
          }),
          devices.events.on('device_deleted', 'log stream', ({ device: gone }) => {
            if (gone.id === device.id) socket.close(1008, 'The device was deleted.');
          }),
        ];
      },
    }),
  ];
}
