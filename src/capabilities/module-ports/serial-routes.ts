/** Operations on the serial ports of the built-in module: an extension of the interface. */
import { route, shape, type Route } from '../../platform/http/index.ts';
import { addBody, portToWire, serialPortShapes, testShape } from './serial-schema.ts';
import type { ModulePorts } from './service.ts';

const PORTS = '/v3/serial_ports';
const PORT = `${PORTS}/{port_name}` as const;

export function serialPortRoutes(ports: ModulePorts): Route[] {
  return [
    route({
      operation: 'list_serial_ports',
      about: 'Serial ports of the built-in communication module, by name.',
      answer: serialPortShapes.list,
      method: 'GET',
      paths: [PORTS],
      role: 'READONLY',
      handle: () => {
        const all = ports.serial();
        return { serial_ports: all.map(portToWire), total_count: all.length };
      },
    }),
    route({
      operation: 'add_serial_port',
      about: 'Gives the built-in module a serial port. Its scripts start again, because its rights change.',
      answer: serialPortShapes.one,
      method: 'POST',
      paths: [PORTS],
      role: 'INSTALLER',
      body: addBody,
      errors: ['400 invalid_body', '409 already_exists', '422 serial_port_limit_reached'],
      handle: ({ body }) => ({
        serial_port: portToWire(
          ports.addSerial({
            name: body.name,
            path: body.path,
            baudRate: body.baud_rate ?? 9_600,
            dataBits: body.data_bits ?? 8,
            parity: body.parity ?? 'N',
            stopBits: body.stop_bits ?? 1,
            aliases: body.aliases ?? [],
          }),
        ),
      }),
    }),
    route({
      operation: 'test_serial_port',
      about: 'Whether the system opens the device file as a serial line now.',
      answer: testShape,
      method: 'POST',
      isReading: true,
      paths: [`${PORT}/test`],
      role: 'INSTALLER',
      errors: ['404 serial_port_not_found'],
      handle: async ({ params }) => {
        const reason = await ports.testSerial(params['port_name'] ?? '');
        return { test: { usable: reason === undefined, ...(reason !== undefined && { reason }) } };
      },
    }),
    route({
      operation: 'remove_serial_port',
      about: 'Takes an added serial port away. Scripts of the module start again.',
      answer: shape.nothing(),
      method: 'DELETE',
      paths: [PORT],
      role: 'INSTALLER',
      errors: ['404 serial_port_not_found', '422 serial_port_of_option'],
      handle: ({ params }) => {
        ports.removeSerial(params['port_name'] ?? '');
        return {};
      },
    }),
  ];
}
