/**
 * What the messages of devices look like, for the description of the interface. The decoders beside this file
 * judge; they take more than is written here, never less. Source: docs/interface/mqtt-devices.md#messages.
 */
import * as v from 'valibot';
import { LOG_SEVERITIES } from './device-log.ts';

/** Rules for all messages. */
export const DEVICE_INTERFACE = `Devices and communication modules as MQTT clients of the gateway, version 3.1.1. A client
publishes below v1/from/{hardware_id}/ and subscribes below v1/to/{hardware_id}/ with its own hardware id only;
anything else is dropped. Nothing is retained. Several sessions with the same credentials may be open
at once. A message is a JSON object in UTF-8; keys that are not described are passed over. Operations are told
from the side of the gateway: it receives what devices send.`;

const timestamp = v.optional(
  v.pipe(
    v.number(),
    v.integer(),
    v.description('Unix seconds of the measurement or event; absent: time of receipt.'),
    v.examples([1_772_352_000]),
  ),
);

export interface DevicePayload {
  about: string;
  schema: v.GenericSchema;
  examples: readonly Record<string, unknown>[];
}

const telemetry: DevicePayload = {
  about:
    'Values of attributes that the manifest declares; others are dropped. Null is no value. An empty message ' +
    'shows that the device is alive.',
  schema: v.looseObject({
    timestamp,
    alerts: v.optional(
      v.pipe(
        v.nullable(v.array(v.string())),
        v.description(
          'Names of all alerts that are raised now: other attributes of alerts that the message leaves out are cleared. Null or absent: as before.',
        ),
      ),
    ),
    alert_details: v.optional(
      v.pipe(v.record(v.string(), v.unknown()), v.description('By the name of the alert.')),
    ),
  }),
  examples: [{ timestamp: 1_772_352_000, voltage: 48.1, status: 'charging', alerts: ['low_soc'] }, {}],
};

const properties: DevicePayload = {
  about: 'Values of properties that the manifest declares, merged into the stored ones; null removes one.',
  schema: v.looseObject({ timestamp }),
  examples: [{ timestamp: 1_772_352_000, serial_number: 'X1', capacity: 10.5 }],
};

const logs: DevicePayload = {
  about: 'One entry of the log of the device; a message that is too long is cut.',
  schema: v.looseObject({
    timestamp,
    message: v.string(),
    severity: v.optional(v.picklist(LOG_SEVERITIES), 'info'),
    persist: v.optional(v.pipe(v.boolean(), v.description('True: kept for long.')), false),
  }),
  examples: [{ message: 'Cell 3 is warm.', severity: 'warning', persist: true }],
};

const responses: DevicePayload = {
  about:
    'An answer to a command request. Any number of `log` may come before `completed` or `error`; any other ' +
    'word means progress. With `error` the payload has a text `message`.',
  schema: v.looseObject({
    id: v.pipe(v.string(), v.description('The id of the request.')),
    state: v.pipe(v.string(), v.examples(['log', 'completed', 'error'])),
    payload: v.optional(v.nullable(v.record(v.string(), v.unknown()))),
  }),
  examples: [
    { id: '0d9f1a52-51d7-4f51-9c66-8f8f3f6c2b10', state: 'log', payload: { message: 'working' } },
    { id: '0d9f1a52-51d7-4f51-9c66-8f8f3f6c2b10', state: 'completed', payload: { result: 5 } },
  ],
};

const configurationRead: DevicePayload = {
  about: 'Asks for the configuration of the device, which comes at once.',
  schema: v.looseObject({}),
  examples: [{}],
};

/** By the kind of the message. */
export const DEVICE_PAYLOADS = {
  telemetry,
  properties,
  logs,
  command_responses: responses,
  configuration_read: configurationRead,
};

/** Configuration that the gateway sends to a device on request, and whenever a value changes. */
export const CONFIGURATION: DevicePayload = {
  about:
    'All groups of the configuration with the values that count, sensitive ones included; parameters with ' +
    'neither value nor default are absent.',
  schema: v.pipe(
    v.record(v.string(), v.record(v.string(), v.unknown())),
    v.description('Group → parameter → value.'),
  ),
  examples: [{ connection: { address: 'tcp://192.168.0.10:502', unit_id: 1 }, limits: {} }],
};

/** Command that the gateway sends to a device. */
export const COMMAND_REQUEST: DevicePayload = {
  about: 'Has exactly these keys. It is sent to the sessions that are connected now and never again.',
  schema: v.strictObject({
    id: v.pipe(v.string(), v.uuid()),
    name: v.pipe(v.string(), v.description('As in the manifest; aliases are resolved.')),
    arguments: v.record(v.string(), v.unknown()),
  }),
  examples: [{ id: '0d9f1a52-51d7-4f51-9c66-8f8f3f6c2b10', name: 'set_limit', arguments: { value: 5 } }],
};
