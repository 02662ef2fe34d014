/** The description of the interface that the gateway serves about itself. Source: OpenAPI 3.1. */
import * as v from 'valibot';
import { LIMITS } from '../lib/limits.ts';
import {
  createDocument,
  describeApi,
  type JsonSchema,
  type PathParameter,
} from '../platform/http-description/index.ts';
import { query, route, type Route, type RouteGroup, shape } from '../platform/http/index.ts';
import { describeMessages } from './message-interface.ts';

const UUID = { type: 'string', format: 'uuid' } as const;
const slugOrId = (example: string) => ({ type: 'string', minLength: 1, maxLength: 64, examples: [example] });
const word = (example: string) => ({ type: 'string', minLength: 1, examples: [example] });

/** Parameters that the platform resolves before the operation have the error code for an unknown value. */
const PATH_PARAMETERS: Record<string, PathParameter> = {
  site_id: { about: 'The id of the site.', schema: UUID, unknown: 'site_not_found' },
  device_id: {
    about: 'Id or slug of a device.',
    schema: slugOrId('battery-1'),
    unknown: 'device_not_found',
  },
  rule_id: { about: 'Id or slug of a rule.', schema: slugOrId('surplus-to-load'), unknown: 'rule_not_found' },
  version_id: { about: 'The id of a version of a rule.', schema: UUID },
  blueprint_id: { about: 'The id of a blueprint.', schema: UUID },
  port_name: { about: 'Name of a serial port.', schema: word('rs485') },
  profile_id: { about: 'The id of a device profile.', schema: word('acme.flywheel') },
  document_id: { about: 'The id of a document.', schema: UUID },
  template_id: { about: 'The id of a device template.', schema: word('eastron-sdm630') },
  strategy_id: { about: 'The id of a strategy.', schema: word('daily') },
  namespace: { about: 'First part of the name of a blueprint.', schema: word('enapter') },
  blueprint_name: { about: 'Second part of the name of a blueprint.', schema: word('battery-inverter') },
  tag: { about: 'Version of a named blueprint.', schema: word('latest') },
  alert_id: { about: 'The id of an alert.', schema: UUID },
  output_id: { about: 'The id of an output.', schema: UUID },
  notification_channel_id: { about: 'The id of a notification channel.', schema: UUID },
  delivery_id: { about: 'The id of a delivery.', schema: UUID },
  entry_number: { about: 'The number of an entry.', schema: { type: 'integer', minimum: 1 } },
  execution_id: { about: 'The id of an execution.', schema: UUID },
  group_name: { about: 'Name of a configuration group in the manifest.', schema: word('limits') },
  user_id: { about: 'The id of a user.', schema: UUID },
  mqtt_guest_id: { about: 'The id of an account of an MQTT device of another maker.', schema: UUID },
  announced_device_id: {
    about: 'The id of an announced device.',
    schema: word('0f5b1c2d3e4f5a6b7c8d9e0f1a2b3c4d'),
  },
  target_id: { about: 'The id of a target.', schema: UUID },
  token_id: { about: 'The id of an access token.', schema: UUID },
  cloud_id: { about: 'Anything.', schema: word('anything') },
};

/** Paths of earlier revisions, each beside a newer one of the same operation (docs/interface/http.md#other-names). */
const OLDER = [
  /\/execute_command$/,
  /\/command_executions\b/,
  /\/(?:down|up)load_device_profiles$/,
  /\/logs\/ws$/,
  /^\/v3\/sites\/users\/me\/sites$/,
];

const ABOUT = `The interface of one gateway. Every path below /v3 answers under /api/v3 too, and with one
trailing slash. Bodies are JSON whatever the content type says; members and query parameters that are not
listed are ignored; an empty query parameter is the same as none. Success is always 200. GET operations answer
HEAD. Each operation stands here once; with ?aliases=true on every path, with those of the cloud that are refused.
WebSocket streams stand under x-streams and, with the side of the devices (MQTT), at /v3/asyncapi.json.`;

/** @param withAliases also further paths of an operation, and operations of the cloud, which are refused */
export function apiDescription(
  groups: readonly RouteGroup[],
  version: string,
  withAliases: boolean,
): JsonSchema {
  return describeApi({
    title: 'Energy gateway',
    version,
    about: ABOUT.replaceAll('\n', ' '),
    groups,
    pathParameters: PATH_PARAMETERS,
    isOlder: (path) => OLDER.some((pattern) => pattern.test(path)),
    withAliases,
  });
}

/** @param groups all groups, this one included; called when the description is first read */
export function descriptionRoutes(groups: () => readonly RouteGroup[], version: string): Route[] {
  const anyone = {
    role: null,
    anonymousPerMinute: LIMITS.http.anonymousDescriptionPerMinute,
  } as const;
  const openApi = (withAliases: boolean) =>
    createDocument('application/json', () => JSON.stringify(apiDescription(groups(), version, withAliases)));
  const once = openApi(false);
  const whole = openApi(true);
  return [
    route({
      ...anyone,
      operation: 'get_openapi',
      about: 'This description, OpenAPI 3.1.',
      GET: ['/v3/openapi.json'],
      query: v.object({
        aliases: query.flag(
          false,
          'With every path of each operation, and with the operations that are always refused.',
        ),
      }),
      answer: shape.WHOLE_DOCUMENT,
      handle: (call) => (call.query.aliases ? whole(call) : once(call)),
    }),
    route({
      ...anyone,
      operation: 'get_asyncapi',
      about: 'Interface of devices over MQTT, and the WebSocket streams, AsyncAPI 3.',
      GET: ['/v3/asyncapi.json'],
      answer: shape.WHOLE_DOCUMENT,
      handle: createDocument('application/json', () => {
        const streams = groups().flatMap((group) => group.streams ?? []);
        return JSON.stringify(describeMessages(version, streams, PATH_PARAMETERS));
      }),
    }),
  ];
}
