/** Operations on CAN, contacts and analogue channels of the built-in module: an extension of the interface. */
import { route, shape, type Route } from '../../platform/http/index.ts';
import { addIoBody, ioPortOfBody, ioPortShapes, ioPortToWire } from './io-schema.ts';
import { testShape } from './serial-schema.ts';
import type { ModulePorts } from './service.ts';

const PORTS = '/v3/io_ports';
const PORT = `${PORTS}/{port_name}` as const;

export function ioPortRoutes(ports: ModulePorts): Route[] {
  return [
    route({
      operation: 'list_io_ports',
      about: 'CAN interfaces, contacts and analogue channels of the built-in communication module, by name.',
      answer: ioPortShapes.list,
      method: 'GET',
      paths: [PORTS],
      role: 'READONLY',
      handle: () => {
        const all = ports.io();
        return { io_ports: all.map(ioPortToWire), total_count: all.length };
      },
    }),
    route({
      operation: 'add_io_port',
      about:
        'Gives the built-in module a CAN interface, a contact or an analogue channel of the board. Its scripts start again.',
      answer: ioPortShapes.one,
      method: 'POST',
      paths: [PORTS],
      role: 'INSTALLER',
      body: addIoBody,
      errors: ['400 invalid_body', '409 already_exists', '422 io_port_limit_reached'],
      handle: ({ body }) => ({ io_port: ioPortToWire(ports.addIo(ioPortOfBody(body))) }),
    }),
    route({
      operation: 'test_io_port',
      about: 'Whether the board has the interface, chip or channel, and the module may use it.',
      answer: testShape,
      method: 'POST',
      isReading: true,
      paths: [`${PORT}/test`],
      role: 'INSTALLER',
      errors: ['404 io_port_not_found'],
      handle: async ({ params }) => {
        const reason = await ports.testIo(params['port_name'] ?? '');
        return { test: { usable: reason === undefined, ...(reason !== undefined && { reason }) } };
      },
    }),
    route({
      operation: 'remove_io_port',
      about: 'Takes such a port away. Scripts of the module start again.',
      answer: shape.nothing(),
      method: 'DELETE',
      paths: [PORT],
      role: 'INSTALLER',
      errors: ['404 io_port_not_found'],
      handle: ({ params }) => {
        ports.removeIo(params['port_name'] ?? '');
        return {};
      },
    }),
  ];
}
