/** How devices are reached: the connections of a template, with their defaults. docs/device-template.md has examples. */
import * as v from 'valibot';
import { name, scalar, shape, text, wordOrder } from './primitives.ts';

/** Telegrams that meters send, each with a decoder of its name in runtime/. */
const TELEGRAM_FORMATS = ['p1', 'sml', 'speedwire'] as const;

export const modbusConnection = shape({
  transports: v.pipe(v.array(v.picklist(['tcp', 'rtu', 'rtu_over_tcp'])), v.minLength(1)),
  /** TCP port of the device. */
  port: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535)), 502),
  unit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(255)), 1),
  baud: v.optional(v.pipe(v.number(), v.integer(), v.minValue(300), v.maxValue(921_600))),
  parity: v.optional(v.picklist(['none', 'even', 'odd']), 'none'),
  stop_bits: v.optional(v.picklist([1, 2]), 1),
  /** Where the device itself can be set either way: `$name` of a parameter whose choices are the two orders. */
  word_order: v.optional(
    v.union([
      wordOrder,
      v.pipe(
        v.string(),
        v.regex(/^\$[a-z][a-z0-9_]*$/, 'must be high_first, low_first or a parameter such as $words'),
      ),
    ]),
    'high_first',
  ),
  registers_per_read: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(125)), 100),
  /** Registers that nobody asked for which one request may read along; 0 where holes are refused. */
  gap: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100)), 8),
  /** Least pause between two requests. */
  pause_ms: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(2_000))),
  timeout_ms: v.optional(v.pipe(v.number(), v.integer(), v.minValue(100), v.maxValue(10_000)), 2_000),
  poll_s: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_600)), 2),
  /** Further units of the installation, by the name of the parameter that holds them. */
  units: v.optional(
    v.record(
      name,
      shape({
        name: text,
        default: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(255))),
      }),
    ),
  ),
});

const settings = v.record(
  name,
  shape({
    name: text,
    description: v.optional(text),
    /** Otherwise that of the default. */
    type: v.optional(v.picklist(['float', 'integer', 'string', 'boolean'])),
    default: v.optional(scalar),
    sensitive: v.optional(v.boolean()),
  }),
);

export const httpConnection = shape({
  scheme: v.optional(v.picklist(['http', 'https']), 'http'),
  port: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535))),
  /** A service on the internet has its address here, and asks for none. */
  url: v.optional(v.pipe(v.string(), v.regex(/^https?:\/\//, 'must begin with http:// or https://'))),
  auth: v.optional(v.picklist(['none', 'basic', 'digest', 'bearer']), 'none'),
  /** Name of the user where there is only one. */
  user: v.optional(text),
  /** The certificate is made by the device itself. */
  own_certificate: v.optional(v.boolean(), false),
  timeout_s: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(60)), 5),
  poll_s: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_600)), 5),
  /**
   * Moments that paths and JSON paths may name as `{name}`: now in UTC, rounded down to whole `step_min`, plus
   * `ahead_min`; in seconds of Unix, or by letters of strftime.
   */
  moments: v.optional(
    v.record(
      name,
      shape({
        step_min: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_440)),
        ahead_min: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2_880)), 0),
        format: v.optional(
          v.pipe(v.string(), v.regex(/^(%[YmdHMS]|[^%])+$/, 'may have %Y, %m, %d, %H, %M and %S')),
        ),
      }),
    ),
  ),
  /** Further settings that paths may name as `{name}`, such as the number of a channel or a serial number. */
  settings: v.optional(settings),
});

/** No device at all: values that follow from settings and the time, such as a tariff. */
export const clockConnection = shape({
  poll_s: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_600)), 60),
  settings,
});

export const mqttConnection = shape({
  /** Beginning of the topics, changeable by the installer; `{topic}` in topics. */
  topic: text,
  poll_s: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_600)), 5),
  /** Values older than this are no longer sent. */
  stale_s: v.optional(v.pipe(v.number(), v.integer(), v.minValue(5), v.maxValue(86_400)), 120),
});

/** A meter that sends telegrams without being asked; its values are named by `obis`. */
export const telegramsConnection = shape({
  format: v.picklist(TELEGRAM_FORMATS),
  transports: v.pipe(v.array(v.picklist(['serial', 'tcp', 'multicast'])), v.minLength(1)),
  /** Port of a serial server, or of the group. */
  port: modbusConnection.entries.port.wrapped,
  /** Settings of the serial line. */
  baud: modbusConnection.entries.baud,
  /** Multicast group that the meter sends to. */
  group: v.optional(v.pipe(v.string(), v.ipv4())),
  poll_s: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(60)), 1),
  /** Silence after which the meter counts as not answering. */
  stale_s: v.optional(v.pipe(v.number(), v.integer(), v.minValue(5), v.maxValue(3_600)), 30),
});

/** A device that answers datagrams with JSON. */
export const udpConnection = shape({
  port: modbusConnection.entries.port.wrapped,
  /** For a device that always answers to one port. */
  own_port: v.optional(modbusConnection.entries.port.wrapped),
  /** Least pause between two questions. */
  pause_ms: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2_000)), 0),
  timeout_ms: v.optional(v.pipe(v.number(), v.integer(), v.minValue(100), v.maxValue(3_000)), 1_000),
  poll_s: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_600)), 5),
});
