/** Serial ports on the wire. */
import * as v from 'valibot';
import { shape } from '../../platform/http/index.ts';
import type { ListedSerialPort } from './service.ts';

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const ALIAS = /^(?:[A-Za-z0-9_-]{1,64}|\/[A-Za-z0-9_./-]{1,254})$/;
const PATH = /^\/dev\/[A-Za-z0-9_./:@+-]{1,248}$/;

const EXAMPLE = {
  name: 'rs485',
  path: '/dev/ttyUSB0',
  baud_rate: 9_600,
  data_bits: 8,
  parity: 'N',
  stop_bits: 1,
  aliases: ['/dev/ttyS0', 'ttyS0'],
} as const;

const name = v.pipe(
  v.string(),
  v.regex(NAME, 'must have 1 to 64 letters, digits, hyphens and underscores'),
  v.description('rs485 and rs232 are what blueprints of such hardware ask for.'),
);

export const addBody = v.pipe(
  v.object({
    name,
    path: v.pipe(
      v.string(),
      v.regex(PATH, 'must be a device file such as /dev/ttyUSB0'),
      v.check((path) => !path.includes('..'), 'must not leave /dev'),
      v.description('Device file; names below /dev/serial/by-id stay the same when adapters change places.'),
      v.examples([EXAMPLE.path]),
    ),
    baud_rate: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(50), v.maxValue(4_000_000)), 9_600),
    data_bits: v.nullish(v.picklist([5, 6, 7, 8]), 8),
    parity: v.nullish(v.picklist(['N', 'E', 'O']), 'N'),
    stop_bits: v.nullish(v.picklist([1, 2]), 1),
    aliases: v.nullish(
      v.pipe(
        v.array(v.pipe(v.string(), v.regex(ALIAS, 'must be a name or a device file'))),
        v.maxLength(8),
        v.description('Further names under which scripts find it, such as the device file of another board.'),
      ),
      [],
    ),
  }),
  shape.example({ ...EXAMPLE, aliases: [...EXAMPLE.aliases] }),
);

const portShape = shape.named(
  'SerialPort',
  v.object({
    name: v.string(),
    path: v.string(),
    baud_rate: v.number(),
    data_bits: v.number(),
    parity: v.string(),
    stop_bits: v.number(),
    aliases: v.array(v.string()),
    source: v.pipe(
      v.picklist(['OPTION', 'ADDED']),
      v.description('OPTION: of the option serial_ports, and changed only there.'),
    ),
  }),
  { ...EXAMPLE, aliases: [...EXAMPLE.aliases], source: 'ADDED' },
);

export type SerialPortOnWire = v.InferOutput<typeof portShape>;

export const serialPortShapes = {
  one: v.object({ serial_port: portShape }),
  list: shape.listOf('serial_ports', portShape),
};

/** Outcome of a test of any port. */
export const testShape = v.object({
  test: v.object({
    usable: v.boolean(),
    reason: v.optional(v.pipe(v.string(), v.description('Why the system does not open it.'))),
  }),
});

export function portToWire(port: ListedSerialPort) {
  const { baudRate, dataBits, stopBits, ...same } = port;
  return { ...same, baud_rate: baudRate, data_bits: dataBits, stop_bits: stopBits };
}
