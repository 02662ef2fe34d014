/** A search on the network as it stands on the wire: an extension of the interface. */
import * as v from 'valibot';
import { type MediaAnswer, shape } from '../../platform/http/index.ts';
import type { HttpRead, SearchEvent, SearchOrder } from './model.ts';

const MODBUS_PORTS = [502, 1_502];
const LIST_MAX = 16;
const URL_LENGTH = 2_048;

const port = v.pipe(v.number(), v.integer('must be a whole number'), v.minValue(1), v.maxValue(65_535));
const few = <Item extends v.GenericSchema>(item: Item) =>
  v.pipe(v.array(item), v.maxLength(LIST_MAX, `must have at most ${LIST_MAX} entries`));

export const searchBody = v.pipe(
  v.object({
    networks: v.nullish(
      shape.about(
        few(v.string()),
        'Networks of the gateway, or parts of them, such as `192.168.1.0/24`. Absent: all of them, the large ones around the address of the gateway.',
      ),
    ),
    modbus_ports: v.nullish(
      shape.about(few(port), `TCP ports at which Modbus is tried. Absent: ${MODBUS_PORTS.join(' and ')}.`),
    ),
    http_ports: v.nullish(
      shape.about(few(port), 'Ports at which HTTP is tried. Absent: those of the templates.'),
    ),
    serial_ports: v.nullish(
      shape.about(v.boolean(), 'Whether the serial ports of the built-in module are searched, too.'),
      true,
    ),
  }),
  shape.example({ networks: ['192.168.1.0/24'] }),
  v.transform(({ networks, modbus_ports, http_ports, serial_ports }): SearchOrder => ({
    networks: networks ?? undefined,
    modbusPorts: modbus_ports ?? MODBUS_PORTS,
    httpPorts: http_ports ?? undefined,
    serialPorts: serial_ports,
  })),
);

export const readBody = v.pipe(
  v.object({
    url: shape.about(
      shape.text(URL_LENGTH),
      'Of a device in a network of the gateway, its host as a number, without user and password.',
    ),
  }),
  shape.example({ url: 'http://192.168.1.20/status' }),
);

/** The answer of an address. */
export const readShape = v.object({
  read: v.object({
    usable: shape.about(v.boolean(), 'It answered with JSON.'),
    message: shape.about(v.string(), 'What happened, in a sentence.'),
    text: shape.about(v.nullable(v.string()), 'The answer, which is JSON.'),
  }),
});
/** An answer as the console reads it. */
export type HttpReadOnWire = v.InferOutput<typeof readShape>['read'];

export const readToWire = ({ isUsable, message, text }: HttpRead): HttpReadOnWire => ({
  usable: isUsable,
  message,
  text: text ?? null,
});

const foundShape = v.object({
  type: v.literal('found'),
  transport: v.picklist(['MODBUS_TCP', 'MODBUS_RTU', 'HTTP', 'MQTT']),
  address: v.string(),
  unit_id: v.optional(v.number()),
  maker: v.optional(v.string()),
  model: v.optional(v.string()),
  serial_number: v.optional(v.string()),
  templates: v.array(v.object({ id: v.string(), name: v.string() })),
  connection: v.record(v.string(), v.union([v.string(), v.number()])),
});
const progressShape = v.object({
  type: v.literal('progress'),
  stage: v.picklist(['NETWORK', 'DEVICES']),
  done: v.number(),
  total: v.number(),
});
const problemShape = v.object({ type: v.literal('problem'), address: v.string(), message: v.string() });
const endShape = v.object({ type: v.literal('end'), outcome: v.picklist(['COMPLETE', 'TIME_LIMIT']) });

/** One line of the answer to a search. */
export type SearchLine =
  | v.InferOutput<typeof foundShape>
  | v.InferOutput<typeof progressShape>
  | v.InferOutput<typeof problemShape>
  | v.InferOutput<typeof endShape>;

export const SEARCH_ANSWER: MediaAnswer = {
  mediaType: 'application/x-ndjson',
  about:
    'One JSON object in each line, as soon as it is known: `type` progress with `stage` (NETWORK, DEVICES), `done`, `total`; found with `transport`, `address`, `unit_id`, `maker`, `model`, `serial_number`, `templates` and the `connection` of a device made of one of them; problem with `address` and `message`; and at last end with `outcome` (COMPLETE, TIME_LIMIT).',
  example:
    '{"type":"found","transport":"MODBUS_TCP","address":"tcp://192.168.1.20:502","unit_id":1,"maker":"Eastron","model":"Eastron SDM630","templates":[{"id":"eastron-sdm630","name":"Eastron SDM630"}],"connection":{"address":"tcp://192.168.1.20:502","unit_id":1}}\n{"type":"end","outcome":"COMPLETE"}\n',
};

export function lineOf(event: SearchEvent): SearchLine {
  if (event.type !== 'found') return event;
  const { unitId, serialNumber, ...device } = event.device;
  return {
    type: 'found',
    ...device,
    ...(unitId !== undefined && { unit_id: unitId }),
    ...(serialNumber !== undefined && { serial_number: serialNumber }),
  };
}
