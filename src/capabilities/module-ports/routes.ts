import { listed, query, route, type Route, shape } from '../../platform/http/index.ts';
import {
  addIoBody,
  addSerialBody,
  ioPortShapes,
  ioPortToWire,
  serialPortShapes,
  serialPortToWire,
  testShape,
} from './schema.ts';
import type { ModulePorts } from './service.ts';

const SERIAL_PORTS = '/v3/serial_ports';
const SERIAL_PORT = `${SERIAL_PORTS}/{port_name}` as const;
const IO_PORTS = '/v3/io_ports';
const IO_PORT = `${IO_PORTS}/{port_name}` as const;

/** Operations on the ports of the built-in module: an extension of the interface. */
export function modulePortRoutes(ports: ModulePorts): Route[] {
  return [...serialPortRoutes(ports), ...ioPortRoutes(ports)];
}

/** @param reason why the port cannot be used; undefined: it can */
const testOf = (reason: string | undefined) => ({
  test: { usable: reason === undefined, ...(reason !== undefined && { reason }) },
});

function serialPortRoutes(ports: ModulePorts): Route[] {
  return [
    route({
      operation: 'list_serial_ports',
      about: 'Serial ports of the built-in communication module, by name.',
      answer: serialPortShapes.list,
      GET: [SERIAL_PORTS],
      role: 'READONLY',
      query: query.pageQuery,
      handle: ({ query: page }) => listed('serial_ports', ports.serial(), serialPortToWire, page),
    }),
    route({
      operation: 'get_serial_port',
      about: 'One serial port, by its name.',
      answer: serialPortShapes.one,
      GET: [SERIAL_PORT],
      role: 'READONLY',
      errors: ['404 serial_port_not_found'],
      handle: (call) => ({ serial_port: serialPortToWire(ports.requireSerial(call.param('port_name'))) }),
    }),
    route({
      operation: 'add_serial_port',
      about: 'Adds a serial port to the built-in module. Its scripts restart, because its rights change.',
      answer: serialPortShapes.one,
      POST: [SERIAL_PORTS],
      role: 'INSTALLER',
      body: addSerialBody,
      errors: ['400 invalid_body', '409 already_exists', '422 serial_port_limit_reached'],
      handle: ({ body }) => ({ serial_port: serialPortToWire(ports.addSerial(body)) }),
    }),
    route({
      operation: 'test_serial_port',
      about: 'Tests whether the system can open the device file as a serial line now.',
      answer: testShape,
      isReading: true,
      POST: [`${SERIAL_PORT}/test`],
      role: 'INSTALLER',
      errors: ['404 serial_port_not_found'],
      handle: async (call) => testOf(await ports.testSerial(call.param('port_name'))),
    }),
    route({
      operation: 'remove_serial_port',
      about: 'Removes an added serial port. Scripts of the module restart.',
      answer: shape.nothing(),
      DELETE: [SERIAL_PORT],
      role: 'INSTALLER',
      errors: ['404 serial_port_not_found', '422 serial_port_of_option'],
      handle: (call) => ports.removeSerial(call.param('port_name')),
    }),
  ];
}

/** CAN, contacts and analogue channels. */
function ioPortRoutes(ports: ModulePorts): Route[] {
  return [
    route({
      operation: 'list_io_ports',
      about: 'CAN interfaces, contacts and analogue channels of the built-in communication module, by name.',
      answer: ioPortShapes.list,
      GET: [IO_PORTS],
      role: 'READONLY',
      query: query.pageQuery,
      handle: ({ query: page }) => listed('io_ports', ports.io(), ioPortToWire, page),
    }),
    route({
      operation: 'get_io_port',
      about: 'One port, by its name.',
      answer: ioPortShapes.one,
      GET: [IO_PORT],
      role: 'READONLY',
      errors: ['404 io_port_not_found'],
      handle: (call) => ({ io_port: ioPortToWire(ports.requireIo(call.param('port_name'))) }),
    }),
    route({
      operation: 'add_io_port',
      about:
        'Adds a CAN interface, a contact or an analogue channel of the board to the built-in module. Its scripts restart.',
      answer: ioPortShapes.one,
      POST: [IO_PORTS],
      role: 'INSTALLER',
      body: addIoBody,
      errors: ['400 invalid_body', '409 already_exists', '422 io_port_limit_reached'],
      handle: ({ body }) => ({ io_port: ioPortToWire(ports.addIo(body)) }),
    }),
    route({
      operation: 'test_io_port',
      about: 'Tests whether the board has the interface, chip or channel, and the module may use it.',
      answer: testShape,
      isReading: true,
      POST: [`${IO_PORT}/test`],
      role: 'INSTALLER',
      errors: ['404 io_port_not_found'],
      handle: async (call) => testOf(await ports.testIo(call.param('port_name'))),
    }),
    route({
      operation: 'remove_io_port',
      about: 'Removes such a port. Scripts of the module restart.',
      answer: shape.nothing(),
      DELETE: [IO_PORT],
      role: 'INSTALLER',
      errors: ['404 io_port_not_found'],
      handle: (call) => ports.removeIo(call.param('port_name')),
    }),
  ];
}
