/** CAN, contacts and analogue channels on the wire. */
import * as v from 'valibot';
import { shape } from '../../platform/http/index.ts';
import type { IoPortRecord } from './service.ts';

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const LINE_MAX = 1_023;
const DEBOUNCE_MS = 5;
const DEBOUNCE_MS_MAX = 60_000;

/** What the path of each kind looks like, and an example. */
const PATHS = {
  CAN: /^[A-Za-z0-9_.-]{1,15}$/,
  DIGITAL_INPUT: /^\/dev\/gpiochip\d{1,4}$/,
  DIGITAL_OUTPUT: /^\/dev\/gpiochip\d{1,4}$/,
  ANALOG_INPUT:
    /^\/sys\/bus\/iio\/devices\/iio:device\d{1,4}\/in_(?:voltage|current|temp)[A-Za-z0-9_-]{0,32}$/,
} as const;

const KINDS = ['CAN', 'DIGITAL_INPUT', 'DIGITAL_OUTPUT', 'ANALOG_INPUT'] as const;
const BIASES = ['AS_IS', 'DISABLED', 'PULL_UP', 'PULL_DOWN'] as const;

const EXAMPLE = {
  name: 'di-1',
  kind: 'DIGITAL_INPUT',
  path: '/dev/gpiochip0',
  line: 17,
  active_low: true,
  bias: 'PULL_UP',
  debounce_ms: DEBOUNCE_MS,
} as const;

export const addIoBody = v.pipe(
  v.object({
    name: v.pipe(
      v.string(),
      v.regex(NAME, 'must have 1 to 64 letters, digits, hyphens and underscores'),
      v.description('Scripts find it as port://name: can, di-1, rl-1, ai-1 are what blueprints ask for.'),
    ),
    kind: v.pipe(v.picklist(KINDS), v.description('DIGITAL_OUTPUT is a relay too.')),
    path: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(128),
      v.description(
        'Interface (can0), GPIO chip (/dev/gpiochip0), or channel (/sys/bus/iio/devices/iio:device0/in_voltage0).',
      ),
      v.examples([EXAMPLE.path]),
    ),
    line: v.nullish(
      v.pipe(
        v.number(),
        v.integer(),
        v.minValue(0),
        v.maxValue(LINE_MAX),
        v.description('Number of the line on its chip; inputs and outputs need it.'),
      ),
    ),
    active_low: v.nullish(
      v.pipe(v.boolean(), v.description('The low level means closed, or on; of inputs and outputs.')),
      false,
    ),
    bias: v.nullish(v.pipe(v.picklist(BIASES), v.description('Resistor of an input.')), 'AS_IS'),
    debounce_ms: v.nullish(
      v.pipe(
        v.number(),
        v.integer(),
        v.minValue(0),
        v.maxValue(DEBOUNCE_MS_MAX),
        v.description('For so long an input must keep a level before it counts.'),
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
  shape.example(EXAMPLE),
);

const ioPortShape = shape.named(
  'IoPort',
  v.object({
    name: v.string(),
    kind: v.picklist(KINDS),
    path: v.string(),
    line: v.optional(v.number()),
    active_low: v.optional(v.boolean()),
    bias: v.optional(v.picklist(BIASES)),
    debounce_ms: v.optional(v.number()),
  }),
  EXAMPLE,
);

export type IoPortOnWire = v.InferOutput<typeof ioPortShape>;

export const ioPortShapes = {
  one: v.object({ io_port: ioPortShape }),
  list: shape.listOf('io_ports', ioPortShape),
};

export function ioPortOfBody(body: v.InferOutput<typeof addIoBody>): IoPortRecord {
  const { name, kind, path } = body;
  const isInput = kind === 'DIGITAL_INPUT';
  return {
    name,
    kind,
    path,
    line: hasLine(kind) ? (body.line ?? null) : null,
    isActiveLow: hasLine(kind) ? (body.active_low ?? false) : null,
    bias: isInput ? (body.bias ?? 'AS_IS') : null,
    debounceMs: isInput ? (body.debounce_ms ?? DEBOUNCE_MS) : null,
  };
}

export function ioPortToWire({
  name,
  kind,
  path,
  line,
  isActiveLow,
  bias,
  debounceMs,
}: IoPortRecord): IoPortOnWire {
  return {
    name,
    kind,
    path,
    ...(line !== null && { line }),
    ...(isActiveLow !== null && { active_low: isActiveLow }),
    ...(bias !== null && { bias }),
    ...(debounceMs !== null && { debounce_ms: debounceMs }),
  };
}

function hasLine(kind: IoPortRecord['kind']): boolean {
  return kind === 'DIGITAL_INPUT' || kind === 'DIGITAL_OUTPUT';
}
