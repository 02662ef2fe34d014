/**
 * The form of a device template: one YAML file that says how a family of devices is reached, what its registers or
 * answers mean and how it is commanded. docs/device-template.md explains each part with examples.
 */
import * as v from 'valibot';
import { BLUEPRINT_CATEGORIES } from '../../lib/blueprint-categories.ts';
import {
  clockConnection,
  httpConnection,
  modbusConnection,
  mqttConnection,
  telegramsConnection,
  udpConnection,
} from './connections.ts';
import { chosenBy, name, number, oneOf, scalar, shape, text, wordOrder } from './primitives.ts';

const address = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535));
const positive = v.pipe(number, v.gtValue(0));

/** How the words of registers become a number or a text. `string8` takes eight registers. */
const WORD_TYPES = ['u16', 'i16', 'u32', 'i32', 'u64', 'i64', 'f32', 'f64'] as const;
const wordType = v.union([
  v.picklist(WORD_TYPES),
  v.pipe(
    v.string(),
    v.regex(
      /^string([1-9]|[1-5]\d|6[0-4])$/,
      'must be a type of registers, such as u16, i32, f32 or string8',
    ),
  ),
]);

/** A condition on the parameters of the template: `{ phases: 3 }`, or several values: `{ model: [a, b] }`. */
const condition = v.record(name, v.union([scalar, v.array(scalar)]));

/** Members allowed beside every source of a value. */
const common = {
  /** Display name; attributes of the library have one. */
  name: v.optional(text),
  description: v.optional(text),
  unit: v.optional(text),
  type: v.optional(v.picklist(['float', 'integer', 'string', 'boolean'])),
  /** Sent as a property of the device instead of telemetry. */
  property: v.optional(v.boolean()),
  /** Used by derived values only. */
  internal: v.optional(v.boolean()),
  when: v.optional(condition),
  /** Read once in so many seconds instead of the template's `poll_s`. */
  every_s: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_600))),
};

/** Steps from a raw value to the value of the attribute, in this order. */
const conversion = {
  /** Raw values that mean *no value*. */
  no_value: v.optional(v.array(v.union([number, v.string()]))),
  /** Bits taken from a raw integer, both counted from 0: `[8, 11]`. */
  bits: v.optional(
    v.tuple([
      v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(63)),
      v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(63)),
    ]),
  ),
  scale: v.optional(v.pipe(number, v.notValue(0, 'must not be 0'))),
  offset: v.optional(number),
  /** Raw value → value; other raw values are no value. */
  enum: v.optional(v.record(v.string(), scalar)),
  /** Raw value → name of an alert, or with `alert_bits` bit → name. */
  alerts: v.optional(v.record(v.string(), name)),
  alert_bits: v.optional(
    v.record(v.pipe(v.string(), v.regex(/^([0-9]|[1-5]\d|6[0-3])$/, 'must be a bit from 0 to 63')), name),
  ),
};

const registerSource = {
  as: v.optional(wordType, 'u16'),
  word_order: v.optional(wordOrder),
};

const modbusValue = shape({
  ...common,
  ...conversion,
  ...registerSource,
  input: v.optional(address),
  holding: v.optional(address),
  coil: v.optional(address),
  discrete: v.optional(address),
  /** Another unit than the configured one: a number, or the name of a `unit` parameter. */
  unit_id: v.optional(v.union([v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(255)), name])),
  /** Register with the power of ten to multiply by, of the same function; read in the same request. */
  scale_register: v.optional(address),
});

const sunspecValue = shape({
  ...common,
  ...conversion,
  /** Models that have the point, and the point: `101|102|103:W`. */
  sunspec: v.pipe(
    v.string(),
    v.regex(/^\d+(\|\d+)*:\w+$/, 'must be models and a point, such as 101|102|103:W or 160:module_1_DCW'),
  ),
});

const answerValue = shape({
  ...common,
  ...conversion,
  /** Request whose answer has it. */
  from: name,
  /** Where in the JSON: `emeters[0].power`, `["ns:key"].value`. */
  path: text,
});

/**
 * A course over time, written as `{ start, step_s, values }` (docs/telemetry.md#schedules). It is read from an answer
 * in one of three forms (list of objects, two lists, object with times as keys), or made of a tariff among the
 * settings.
 */
const scheduleValue = shape({
  ...common,
  schedule: shape({
    from: v.optional(name),
    /** One or several lists of objects, with the paths of time, end and value inside of an object. */
    list: v.optional(v.union([text, v.pipe(v.array(text), v.minLength(1))])),
    start: v.optional(text),
    end: v.optional(text),
    value: v.optional(text),
    /** Two lists of the same length. */
    starts: v.optional(text),
    values: v.optional(text),
    /** An object: time → value. */
    by_time: v.optional(text),
    /** Names of settings: the value, and the other value that holds at the `at` times, such as `mon-fri 22:00-06:00`. */
    tariff: v.optional(shape({ value: name, other: v.optional(name), at: v.optional(name) })),
    scale: conversion.scale,
    /** Name of a setting that values are multiplied by. */
    factor: v.optional(name),
    /** Times without a zone are UTC, or those of the site. */
    timezone: v.optional(v.picklist(['utc', 'site']), 'utc'),
    /** How long one value lasts at most, where the answer gives no `end`. */
    step_min: v.optional(v.pipe(v.number(), v.integer(), v.minValue(15), v.maxValue(1_440)), 60),
    /** Added to the times, for services that give the end of an interval. */
    shift_min: v.optional(v.pipe(v.number(), v.integer(), v.minValue(-1_440), v.maxValue(1_440))),
    /** Value of times between the first and the last that have none. */
    gaps: v.optional(number),
  }),
});

const obisValue = shape({
  ...common,
  ...conversion,
  /** Code of the value in telegrams: `1-0:1.8.0`; `kind 003:24.2.1` is that of the gas meter behind a P1 meter. */
  obis: v.pipe(
    v.string(),
    v.regex(
      /^(\d+-\d+|kind \d{3}):\d+\.\d+\.\d+(\*\d+)?$/,
      'must be a code such as 1-0:1.8.0 or kind 003:24.2.1',
    ),
  ),
});

const operands = v.pipe(v.array(v.union([name, number])), v.minLength(2));
const derivedValue = shape({
  ...common,
  enum: conversion.enum,
  /** Sum of all; no value if one of them is missing. */
  sum: v.optional(operands),
  /** Sum of those that have a value. */
  sum_known: v.optional(operands),
  /** The first minus all others. */
  difference: v.optional(operands),
  product: v.optional(operands),
  negate: v.optional(name),
  /** The part above zero, and the part below zero made positive. */
  positive_part: v.optional(name),
  negative_part: v.optional(name),
  /** The first of several that has a value. */
  first: v.optional(operands),
  /** One of several, by another value: `{ by: mode, of: { charging: a, discharging: b } }`. */
  select: v.optional(shape({ by: name, of: v.record(v.string(), v.union([name, number])) })),
  constant: v.optional(scalar),
  /** A setting of the connection. */
  setting: v.optional(name),
  /** Value of a schedule for this moment. */
  now: v.optional(name),
});

const OPERATIONS = Object.keys(derivedValue.entries).filter((key) => !(key in common) && key !== 'enum');

/** One value of a device: its shape follows from how it comes about. */
const valueOfAnyKind = chosenBy(
  [modbusValue, sunspecValue, answerValue, scheduleValue, obisValue, derivedValue],
  (has) => {
    if (has('sunspec')) return sunspecValue;
    if (has('schedule')) return scheduleValue;
    if (has('from') || has('path')) return answerValue;
    if (has('obis')) return obisValue;
    return OPERATIONS.some(has) ? derivedValue : modbusValue;
  },
);

const argument = shape({
  name: text,
  description: v.optional(text),
  type: v.optional(v.picklist(['float', 'integer', 'string', 'boolean']), 'float'),
  unit: v.optional(text),
  min: v.optional(number),
  max: v.optional(number),
  enum: v.optional(v.union([v.array(scalar), v.record(v.string(), text)])),
  default: v.optional(scalar),
});

/** A number, or an argument of the command: `$current`. */
const operand = v.union([
  number,
  v.pipe(v.string(), v.regex(/^\$[a-z][a-z0-9_]*$/, 'must be a number or an argument, such as $current')),
]);

const registerWrite = shape({
  holding: v.optional(address),
  coil: v.optional(address),
  /** A point of a SunSpec model: `123:WMaxLimPct`. */
  sunspec: v.optional(sunspecValue.entries.sunspec),
  ...registerSource,
  unit_id: modbusValue.entries.unit_id,
  value: operand,
  /** Value of the argument → raw value. */
  map: v.optional(v.record(v.string(), number)),
  /** The raw value is the value divided by this. */
  scale: v.optional(positive),
  /** Function of the request; by default 6 for one register, 16 for several. */
  function: v.optional(v.picklist([6, 16])),
});
const step = oneOf(
  shape({ write: registerWrite }),
  /** HTTP; `{argument}` in path and body is replaced. */
  shape({ get: text }),
  shape({ post: text, body: v.optional(v.string()), content_type: v.optional(text) }),
  shape({ put: text, body: v.optional(v.string()), content_type: v.optional(text) }),
  /** MQTT. */
  shape({ publish: text, payload: v.string(), retain: v.optional(v.boolean()) }),
  /** UDP: a text, and how its answer begins. */
  shape({ send: text, answer: text }),
  shape({ pause_ms: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(5_000)) }),
);
const steps = v.pipe(v.array(step), v.minLength(1));

const command = shape({
  name: text,
  description: v.optional(text),
  /** Least role that may run it. */
  level: v.optional(v.picklist(['user', 'owner', 'installer']), 'user'),
  quick_access: v.optional(v.boolean()),
  confirmation: v.optional(text),
  when: v.optional(condition),
  arguments: v.optional(v.record(name, argument)),
  do: steps,
  /** Commands of one output replace each other's repetition. */
  output: v.optional(name),
  /** The steps are repeated so often until another command of the same output runs. */
  repeat_s: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_600))),
});

/** The answer is a CSV file in place of JSON. Its rows are a list, with cells by column of the header and by position. */
const csv = shape({
  /** `tab`, a character, or both by `{name}` of a setting. */
  separator: v.optional(
    v.pipe(
      v.string(),
      v.regex(
        /^(tab|[^"\w\s]|\{[a-z][a-z0-9_]*\})$/,
        'must be tab, a character such as ; or a setting as {name}',
      ),
    ),
    ',',
  ),
  decimal: v.optional(
    v.pipe(v.string(), v.regex(/^([.,]|\{[a-z][a-z0-9_]*\})$/, 'must be . or , or a setting as {name}')),
    '.',
  ),
  /** Line of the header, counted from 1; 0 for a file without one. */
  header: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100)), 1),
});

const request = oneOf(
  shape({
    get: text,
    csv: v.optional(csv),
    headers: v.optional(v.record(v.string(), v.string())),
    every_s: common.every_s,
    when: v.optional(condition),
    optional: v.optional(v.boolean()),
  }),
  shape({
    post: text,
    body: v.optional(v.string()),
    content_type: v.optional(text),
    csv: v.optional(csv),
    headers: v.optional(v.record(v.string(), v.string())),
    every_s: common.every_s,
    when: v.optional(condition),
    optional: v.optional(v.boolean()),
  }),
  /** MQTT: the newest message of the topic; `plain` for payloads that are no JSON. */
  shape({
    topic: text,
    plain: v.optional(v.boolean()),
    when: v.optional(condition),
    optional: v.optional(v.boolean()),
  }),
  /** UDP: a text, and the fields that tell its answer from others. */
  shape({
    send: text,
    answer: v.record(v.string(), v.string()),
    every_s: common.every_s,
    when: v.optional(condition),
    optional: v.optional(v.boolean()),
  }),
);

/** Parts of an energy site that a device can be; what they mean is in docs/energy.md. */
export const ENERGY_ROLES = [
  'grid',
  'pv',
  'battery',
  'load',
  'ev_charger',
  'heat_pump',
  'generator',
  'electrolyser',
] as const;
const role = shape({
  role: v.picklist(ENERGY_ROLES),
  power: v.optional(name),
  forward: v.optional(name),
  reverse: v.optional(name),
  soc: v.optional(name),
  /** The power counts the other way. */
  inverted: v.optional(v.boolean()),
  /** No device of the family has more; a larger power is a pattern for "not available". */
  power_max_w: v.optional(positive),
  when: v.optional(condition),
});

/** A meter may hang anywhere: the installer says where, and its import and export get their meaning from that. */
const meter = shape({
  /** Positive while importing. */
  power: name,
  imported: v.optional(name),
  exported: v.optional(name),
  power_max_w: role.entries.power_max_w,
  default: v.optional(
    v.picklist(['grid', 'pv', 'pv_import', 'load', 'heat_pump', 'ev_charger', 'battery', 'other']),
    'grid',
  ),
});

const alert = shape({
  name: text,
  severity: v.optional(v.picklist(['info', 'warning', 'error']), 'warning'),
  description: v.optional(text),
});

/** Something that only this family answers, for the search on the network. All tests of one entry must hold. */
const recognition = oneOf(
  shape({ sunspec: shape({ maker: text, model: v.optional(text) }) }),
  shape({ identification: shape({ vendor: text, product: v.optional(text) }) }),
  shape({
    register: shape({
      input: v.optional(address),
      holding: v.optional(address),
      ...registerSource,
      equals: v.optional(v.array(scalar)),
      between: v.optional(v.tuple([number, number])),
      begins_with: v.optional(text),
    }),
  }),
  shape({ mdns: shape({ service: text, name: v.optional(text) }) }),
  shape({
    http: shape({
      path: text,
      field: v.optional(text),
      equals: v.optional(v.array(scalar)),
      begins_with: v.optional(text),
      contains: v.optional(text),
    }),
  }),
  shape({ topic: shape({ filter: text, field: v.optional(text) }) }),
);

/** A device template as its file has it, defaults filled in. */
export const templateSchema = shape({
  template: v.literal('device/1', 'must be device/1'),
  name: v.pipe(text, v.maxLength(100, 'must have 100 characters or less')),
  maker: text,
  description: v.optional(text),
  products: v.pipe(v.array(text), v.minLength(1)),
  category: v.picklist(BLUEPRINT_CATEGORIES),
  icon: v.optional(text),
  /** Where the facts come from; two at least where `verified` is more than `one source`. */
  sources: v.pipe(v.array(text), v.minLength(1)),
  verified: v.picklist(['one source', 'two sources', 'register image', 'recorded answer', 'field']),
  /** Conditions that must be met before it works. */
  before: v.optional(v.array(text)),
  parameters: v.optional(
    v.record(
      name,
      shape({
        name: text,
        description: v.optional(text),
        choices: v.pipe(v.record(v.string(), text), v.minEntries(1, 'must have one at least')),
        default: scalar,
      }),
    ),
  ),
  modbus: v.optional(modbusConnection),
  http: v.optional(httpConnection),
  mqtt: v.optional(mqttConnection),
  clock: v.optional(clockConnection),
  telegrams: v.optional(telegramsConnection),
  udp: v.optional(udpConnection),
  requests: v.optional(v.record(name, request)),
  /** Units beyond UCUM, such as of prices: code → symbol. */
  units: v.optional(v.record(v.string(), text)),
  values: v.pipe(v.record(name, valueOfAnyKind), v.minEntries(1, 'must have one at least')),
  alerts: v.optional(v.record(name, alert)),
  roles: v.optional(v.array(role)),
  /** Instead of roles: a parameter `role` and the roles that follow from it. */
  meter: v.optional(meter),
  /** Steps before the first command after a start: a watchdog of the device, a mode that allows control. */
  prepare: v.optional(steps),
  commands: v.optional(v.record(name, command)),
  recognise: v.optional(v.array(recognition)),
});

/** A device template, defaults filled in. */
export type Template = v.InferOutput<typeof templateSchema>;
/** One value of a template, however it comes about. */
export type TemplateValue =
  | ModbusValue
  | DerivedValue
  | ScheduleValue
  | v.InferOutput<typeof sunspecValue>
  | v.InferOutput<typeof answerValue>
  | v.InferOutput<typeof obisValue>;
export type ModbusValue = v.InferOutput<typeof modbusValue>;
export type ScheduleValue = v.InferOutput<typeof scheduleValue>;
type DerivedValue = v.InferOutput<typeof derivedValue>;
export type TemplateStep = v.InferOutput<typeof step>;
export type TemplateCommand = v.InferOutput<typeof command>;
export type Recognition = v.InferOutput<typeof recognition>;
export type Condition = v.InferOutput<typeof condition>;
