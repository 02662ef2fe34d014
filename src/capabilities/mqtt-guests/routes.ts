import { unprocessable } from '../../lib/errors.ts';
import { type Call, listed, route, type Route, shape } from '../../platform/http/index.ts';
import type { Addresses } from '../provisioning/index.ts';
import type { MqttGuest } from './model.ts';
import {
  guestShapes,
  guestToWire,
  listGuestsQuery,
  newGuestBody,
  passwordBody,
  updateGuestBody,
} from './schema.ts';
import type { MqttGuests } from './service.ts';

const GUESTS = '/v3/mqtt_guests';
const GUEST = `${GUESTS}/{mqtt_guest_id}` as const;

interface RouteOptions {
  mqttGuests: MqttGuests;
  addresses: Addresses;
}

/** Accounts of MQTT clients of other makers: an extension of the interface (docs/interface/http.md#mqtt-accounts). */
export function mqttGuestRoutes(options: RouteOptions): Route[] {
  return [...listRoutes(options), ...oneGuestRoutes(options)];
}

const wireOf = (guests: MqttGuests) => (guest: MqttGuest) =>
  guestToWire(guest, { isConnected: guests.isConnected(guest.id), refusal: guests.lastRefusal(guest.id) });

function connectionOf({ addresses }: RouteOptions, call: Pick<Call, 'host'>) {
  const port = addresses.mqttPort();
  if (port === undefined)
    throw unprocessable('not_available_on_gateway', 'This gateway does not listen for MQTT now.');
  return { mqtt_host: addresses.publicHost ?? call.host, mqtt_port: port };
}

function listRoutes(options: RouteOptions): Route[] {
  const { mqttGuests } = options;
  return [
    route({
      operation: 'list_mqtt_guests',
      about: 'Accounts of MQTT devices of other makers, by name.',
      answer: guestShapes.list,
      GET: [GUESTS],
      role: 'OWNER',
      query: listGuestsQuery,
      handle: ({ query }) => listed('mqtt_guests', mqttGuests.list(), wireOf(mqttGuests), query),
    }),
    route({
      operation: 'create_mqtt_guest',
      about:
        'Creates an account with which an MQTT device of another maker may use topics of its own. The password is shown only once.',
      answer: guestShapes.made,
      POST: [GUESTS],
      role: 'OWNER',
      body: newGuestBody,
      errors: [
        '400 invalid_body',
        '409 already_exists',
        '422 mqtt_guest_limit_reached',
        '422 not_available_on_gateway',
      ],
      handle: (call) => {
        const connection = connectionOf(options, call);
        const { guest, password } = mqttGuests.create({
          ...call.body,
          password: call.body.password ?? undefined,
        });
        call.note({ mqtt_guest_id: guest.id, mqtt_guest_name: guest.name });
        return { mqtt_guest: wireOf(mqttGuests)(guest), password, ...connection };
      },
    }),
  ];
}

function oneGuestRoutes(options: RouteOptions): Route[] {
  const { mqttGuests } = options;
  const toWire = wireOf(mqttGuests);
  return [
    route({
      operation: 'get_mqtt_guest',
      about: 'One account of an MQTT device of another maker.',
      answer: guestShapes.one,
      GET: [GUEST],
      role: 'OWNER',
      errors: ['404 mqtt_guest_not_found'],
      handle: (call) => ({ mqtt_guest: toWire(mqttGuests.require(call.param('mqtt_guest_id'))) }),
    }),
    route({
      operation: 'update_mqtt_guest',
      about: 'Changes the given members and ends the sessions of the account.',
      answer: guestShapes.one,
      PATCH: [GUEST],
      role: 'OWNER',
      body: updateGuestBody,
      errors: ['400 invalid_body', '404 mqtt_guest_not_found', '409 already_exists'],
      handle: (call) => ({ mqtt_guest: toWire(mqttGuests.update(call.param('mqtt_guest_id'), call.body)) }),
    }),
    route({
      operation: 'generate_mqtt_guest_password',
      about:
        'Sets a new password, shown only once. The old one becomes invalid and sessions with it are closed.',
      answer: guestShapes.made,
      POST: [`${GUEST}/generate_password`],
      role: 'OWNER',
      body: passwordBody,
      errors: ['404 mqtt_guest_not_found', '422 not_available_on_gateway'],
      handle: (call) => {
        const connection = connectionOf(options, call);
        const made = mqttGuests.renewPassword(call.param('mqtt_guest_id'), call.body.password ?? undefined);
        return { mqtt_guest: toWire(made.guest), password: made.password, ...connection };
      },
    }),
    route({
      operation: 'delete_mqtt_guest',
      about: 'Deletes the account and what it announced. Devices that were made of it stay, offline.',
      answer: shape.nothing(),
      DELETE: [GUEST],
      role: 'OWNER',
      errors: ['404 mqtt_guest_not_found'],
      handle: (call) => mqttGuests.remove(call.param('mqtt_guest_id')),
    }),
  ];
}
