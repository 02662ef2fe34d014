/** Ports of the built-in module on the wire. */
import * as v from 'valibot';
import { camelMembers } from '../../lib/members.ts';
import { canonicalPortPath, isSerialServer, parseSerialServer } from '../../lib/address.ts';
import { shape } from '../../platform/http/index.ts';
import type { IoPortRecord, ListedSerialPort, SerialPortRecord } from './service.ts';
import { BIASES, IO_KINDS } from './tables.ts';

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

const nameOf = (about: string) =>
  v.pipe(
    v.string(),
    v.regex(NAME, 'must have 1 to 64 letters, digits, hyphens and underscores'),
    v.description(about),
  );

/** Outcome of a test of any port. */
export const testShape = v.object({
  test: v.object({
    usable: v.boolean(),
    reason: v.optional(shape.about(v.string(), 'Why the system does not open it.')),
  }),
});

const ALIAS = /^(?:[A-Za-z0-9_-]{1,64}|\/[A-Za-z0-9_./-]{1,254})$/;
const DEVICE_FILE = /^\/dev\/[A-Za-z0-9_./:@+-]{1,248}$/;

const SERIAL_EXAMPLE = {
  name: 'rs485',
  path: '/dev/ttyUSB0',
  baud_rate: 9_600,
  data_bits: 8,
  parity: 'N',
  stop_bits: 1,
  aliases: ['/dev/ttyS0', 'ttyS0'],
};

const serialPath = v.pipe(
  v.string(),
  v.check(
    (path) => isSerialServer(path) || DEVICE_FILE.test(path),
    'must be a device file such as /dev/ttyUSB0, or a serial server such as socket://192.168.1.30:4001',
  ),
  v.check((path) => isSerialServer(path) || !path.includes('..'), 'must not leave /dev'),
  v.maxLength(255, 'must have at most 255 characters'),
  v.check(
    (path) => !isSerialServer(path) || typeof parseSerialServer(path) === 'object',
    ({ input }) => serverProblem(input),
  ),
  v.description(
    'Device file; names below /dev/serial/by-id stay the same when adapters change places. Or the line of a serial server, `socket://192.168.1.30:4001`: then the server sets the speed.',
  ),
  v.examples([SERIAL_EXAMPLE.path]),
  v.transform(canonicalPortPath),
);

/** Why a path names no serial server. */
function serverProblem(path: string): string {
  const server = parseSerialServer(path);
  return typeof server === 'string' ? server : '';
}

export const addSerialBody = v.pipe(
  v.object({
    name: nameOf('rs485 and rs232 are what blueprints of such hardware ask for.'),
    path: serialPath,
    baud_rate: v.nullish(shape.whole(50, 4_000_000), 9_600),
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
  shape.example(SERIAL_EXAMPLE),
  v.transform((port): SerialPortRecord => camelMembers(port)),
);

const serialPortShape = shape.named(
  'SerialPort',
  v.object({
    name: v.string(),
    path: v.string(),
    baud_rate: v.number(),
    data_bits: v.number(),
    parity: v.string(),
    stop_bits: v.number(),
    aliases: v.array(v.string()),
    source: shape.about(
      v.picklist(['OPTION', 'ADDED']),
      'OPTION: of the option serial_ports, and changed only there.',
    ),
  }),
  { ...SERIAL_EXAMPLE, source: 'ADDED' },
);

export type SerialPortOnWire = v.InferOutput<typeof serialPortShape>;

export const serialPortShapes = {
  one: v.object({ serial_port: serialPortShape }),
  list: shape.listOf('serial_ports', serialPortShape),
};

export const serialPortToWire = (port: ListedSerialPort): SerialPortOnWire =>
  shape.filled(serialPortShape, port);

const LINE_MAX = 1_023;
const DEBOUNCE_MS = 5;
const DEBOUNCE_MS_MAX = 60_000;

/** Form of the path of each kind. */
const PATHS = {
  CAN: /^[A-Za-z0-9_.-]{1,15}$/,
  DIGITAL_INPUT: /^\/dev\/gpiochip\d{1,4}$/,
  DIGITAL_OUTPUT: /^\/dev\/gpiochip\d{1,4}$/,
  ANALOG_INPUT:
    /^\/sys\/bus\/iio\/devices\/iio:device\d{1,4}\/in_(?:voltage|current|temp)[A-Za-z0-9_-]{0,32}$/,
} as const;

const IO_EXAMPLE = {
  name: 'di-1',
  kind: 'DIGITAL_INPUT',
  path: '/dev/gpiochip0',
  line: 17,
  active_low: true,
  bias: 'PULL_UP',
  debounce_ms: DEBOUNCE_MS,
} as const;

const hasLine = (kind: IoPortRecord['kind']): boolean =>
  kind === 'DIGITAL_INPUT' || kind === 'DIGITAL_OUTPUT';

export const addIoBody = v.pipe(
  v.object({
    name: nameOf('Scripts find it as port://name: can, di-1, rl-1, ai-1 are what blueprints ask for.'),
    kind: shape.about(v.picklist(IO_KINDS), 'DIGITAL_OUTPUT is a relay too.'),
    path: v.pipe(
      shape.text(128),
      v.description(
        'Interface (can0), GPIO chip (/dev/gpiochip0), or channel (/sys/bus/iio/devices/iio:device0/in_voltage0).',
      ),
      v.examples([IO_EXAMPLE.path]),
    ),
    line: v.nullish(
      shape.about(shape.whole(0, LINE_MAX), 'Number of the line on its chip; inputs and outputs need it.'),
    ),
    active_low: v.nullish(
      shape.about(v.boolean(), 'The low level means closed, or on; of inputs and outputs.'),
      false,
    ),
    bias: v.nullish(shape.about(v.picklist(BIASES), 'Resistor of an input.'), 'AS_IS'),
    debounce_ms: v.nullish(
      shape.about(
        shape.whole(0, DEBOUNCE_MS_MAX),
        'For so long an input must keep a level before it counts.',
      ),
      DEBOUNCE_MS,
    ),
  }),
  v.forward(
    v.check(
      ({ kind, path }) => PATHS[kind].test(path),
      'must be what the kind needs: can0, /dev/gpiochip0, or /sys/bus/iio/devices/iio:device0/in_voltage0',
    ),
    ['path'],
  ),
  v.forward(
    v.check(
      ({ kind, line }) => !hasLine(kind) || typeof line === 'number',
      'is needed for inputs and outputs',
    ),
    ['line'],
  ),
  shape.example(IO_EXAMPLE),
  v.transform(
    ({ name, kind, path, line, active_low: isLow, bias, debounce_ms: debounceMs }): IoPortRecord => {
      const isInput = kind === 'DIGITAL_INPUT';
      return {
        name,
        kind,
        path,
        line: hasLine(kind) ? (line ?? null) : null,
        isActiveLow: hasLine(kind) ? isLow : null,
        bias: isInput ? bias : null,
        debounceMs: isInput ? debounceMs : null,
      };
    },
  ),
);

const ioPortShape = shape.named(
  'IoPort',
  v.object({
    name: v.string(),
    kind: v.picklist(IO_KINDS),
    path: v.string(),
    line: v.optional(v.number()),
    active_low: v.optional(v.boolean()),
    bias: v.optional(v.picklist(BIASES)),
    debounce_ms: v.optional(v.number()),
  }),
  IO_EXAMPLE,
);

export type IoPortOnWire = v.InferOutput<typeof ioPortShape>;

export const ioPortShapes = {
  one: v.object({ io_port: ioPortShape }),
  list: shape.listOf('io_ports', ioPortShape),
};

export const ioPortToWire = (port: IoPortRecord): IoPortOnWire => shape.filled(ioPortShape, port);
