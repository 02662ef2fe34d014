/** The messages of devices over MQTT and of the WebSocket streams as one AsyncAPI 3 document. */
import { LIMITS } from '../lib/limits.ts';
import { mapped } from '../lib/members.ts';
import {
  createJsonSchemas,
  exampleOf,
  type JsonSchema,
  type PathParameter,
} from '../platform/http-description/index.ts';
import type { Stream } from '../platform/http/index.ts';
import {
  COMMAND_REQUEST,
  CONFIGURATION,
  DEVICE_INTERFACE,
  DEVICE_PAYLOADS,
  type DevicePayload,
} from '../protocol/device-payloads.ts';
import {
  commandRequestTopic,
  CONFIGURATION_SUBJECT,
  DEVICE_SUBJECTS,
  deviceSource,
  deviceTopic,
} from '../protocol/device-topic.ts';
import { MODULE_CHANNEL, MODULE_MESSAGES, MODULE_SUBJECT, moduleTopic } from '../protocol/module.ts';

/** @throws Error when a message cannot be described */
export function describeMessages(
  version: string,
  streams: readonly Stream[],
  pathParameters: Readonly<Record<string, PathParameter>>,
): JsonSchema {
  const devices = describeDevices();
  const web = describeStreams(streams, pathParameters);
  return {
    asyncapi: '3.0.0',
    info: { title: 'Energy gateway: messages', version, description: devices.about },
    defaultContentType: 'application/json',
    servers: { ...devices.servers, ...web.servers },
    channels: { ...devices.channels, ...web.channels },
    operations: { ...devices.operations, ...web.operations },
    components: {
      schemas: web.schemas,
      messages: { ...devices.messages, ...web.messages },
      parameters: devices.parameters,
      securitySchemes: { ...devices.securitySchemes, ...web.securitySchemes },
    },
  };
}

// The MQTT interface of devices in the terms of AsyncAPI 3, from the topics and payloads that the gateway uses.

const ADDRESS = { hardwareId: '{hardware_id}', channelId: '{channel_id}' };

const PARAMETERS = {
  hardware_id: { description: 'Given when the device is made; 1 to 64 letters, digits, - or _.' },
  channel_id: {
    description: 'One device on its hardware: `ucm` for the one that owns it.',
    default: MODULE_CHANNEL,
  },
};

interface Conversation {
  name: string;
  action: 'send' | 'receive';
  address: string;
  message: string;
}

/** @throws Error when a payload cannot be described */
function describeDevices() {
  const { conversations, payloads } = interfaceParts();
  const schemas = createJsonSchemas([], (name) => `#/components/schemas/${name}`);
  return {
    about: DEVICE_INTERFACE.replaceAll('\n', ' '),
    servers: {
      plain: serverOf('mqtt', '1883', 'password', 'For devices with a configuration of protocol MQTT.'),
      encrypted: serverOf('mqtts', '8883', 'certificate', 'For those of protocol MQTTS, where it is on.'),
    },
    channels: byName(conversations, ({ address, message }) => ({
      address,
      servers: [{ $ref: '#/servers/plain' }, { $ref: '#/servers/encrypted' }],
      messages: { [message]: { $ref: `#/components/messages/${message}` } },
      parameters: Object.fromEntries(
        [...address.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => [
          parameter,
          { $ref: `#/components/parameters/${parameter}` },
        ]),
      ),
    })),
    operations: Object.fromEntries(
      conversations.map(({ name, action, message }) => [
        `${action}_${name}`,
        {
          action,
          channel: { $ref: `#/channels/${name}` },
          messages: [{ $ref: `#/channels/${name}/messages/${message}` }],
          // Devices may send with any QoS.
          ...(action === 'send' && { bindings: { mqtt: { qos: 1, retain: false } } }),
        },
      ]),
    ),
    messages: mapped(payloads, ({ about, schema, examples }) => ({
      summary: about,
      contentType: 'application/json',
      payload: schemas.of(schema),
      ...(examples.length > 0 && { examples: examples.map((payload) => ({ payload })) }),
      'x-limit-bytes': LIMITS.mqtt.payloadBytes,
    })),
    parameters: PARAMETERS,
    securitySchemes: {
      password: {
        type: 'userPassword',
        description: 'The hardware id and the password of the connection configuration.',
      },
      certificate: {
        type: 'X509',
        description: 'The client certificate and key of the connection configuration.',
      },
    },
  };
}

function byName(conversations: readonly Conversation[], describe: (each: Conversation) => JsonSchema) {
  return Object.fromEntries(conversations.map((each) => [each.name, describe(each)]));
}

function interfaceParts(): { conversations: Conversation[]; payloads: Record<string, DevicePayload> } {
  const fromDevices = [...DEVICE_SUBJECTS].map(([subject, kind]): Conversation => ({
    name: subject.replaceAll('/', '_'),
    action: 'receive',
    address: deviceSource(ADDRESS, subject),
    message: kind,
  }));
  const module = { ...ADDRESS, channelId: MODULE_CHANNEL };
  return {
    conversations: [
      ...fromDevices,
      {
        name: 'command_requests',
        action: 'send',
        address: commandRequestTopic(ADDRESS),
        message: 'command_request',
      },
      {
        name: 'configuration',
        action: 'send',
        address: deviceTopic(ADDRESS, CONFIGURATION_SUBJECT),
        message: 'configuration',
      },
      { name: 'to_module', action: 'send', address: moduleTopic(module.hardwareId), message: 'to_module' },
      {
        name: 'from_module',
        action: 'receive',
        address: deviceSource(module, MODULE_SUBJECT),
        message: 'from_module',
      },
    ],
    payloads: {
      ...DEVICE_PAYLOADS,
      command_request: COMMAND_REQUEST,
      configuration: CONFIGURATION,
      to_module: {
        about: 'What a communication module must run, and answers to its questions; only for modules.',
        schema: MODULE_MESSAGES.toModule,
        examples: [],
      },
      from_module: {
        about: 'Questions and reports of a communication module; only from modules.',
        schema: MODULE_MESSAGES.fromModule,
        examples: [],
      },
    },
  };
}

function serverOf(protocol: string, port: string, security: string, about: string): JsonSchema {
  return {
    host: '{host}:{port}',
    protocol,
    protocolVersion: '3.1.1',
    description: about,
    variables: { host: { default: 'localhost' }, port: { default: port } },
    security: [{ $ref: `#/components/securitySchemes/${security}` }],
  };
}

// The WebSocket streams in the terms of AsyncAPI 3, as parts of its document.

/** @throws Error when a message cannot be described */
function describeStreams(
  streams: readonly Stream[],
  pathParameters: Readonly<Record<string, PathParameter>>,
) {
  const given = streams
    .flatMap(({ query, message }) => [query, message])
    .filter((each) => each !== undefined);
  const schemas = createJsonSchemas(given, (name) => `#/components/schemas/${name}`);
  const parametersOf = (path: string) =>
    Object.fromEntries(
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [
        name,
        { description: pathParameters[name]?.about ?? '' },
      ]),
    );
  return {
    servers: {
      web: webServer('ws', '8080'),
      encrypted_web: webServer('wss', '8443'),
    },
    channels: byOperation(streams, ({ operation, paths: [path], about, query }) => ({
      address: path,
      description: about,
      servers: [{ $ref: '#/servers/web' }, { $ref: '#/servers/encrypted_web' }],
      messages: { [operation]: { $ref: `#/components/messages/${operation}` } },
      parameters: parametersOf(path),
      ...(query && { bindings: { ws: { query: schemas.of(query), bindingVersion: '0.1.0' } } }),
    })),
    operations: byOperation(streams, ({ operation }) => ({
      action: 'send',
      channel: { $ref: `#/channels/${operation}` },
      messages: [{ $ref: `#/channels/${operation}/messages/${operation}` }],
    })),
    messages: byOperation(streams, ({ about, role, message }) => ({
      summary: about,
      contentType: 'application/json',
      'x-required-role': role,
      ...(message && {
        payload: schemas.of(message),
        examples: [{ payload: exampleOf(schemas.of(message), schemas.named) }],
      }),
    })),
    schemas: schemas.named,
    securitySchemes: {
      token: {
        type: 'httpApiKey',
        in: 'header',
        name: 'X-Service-Auth-Token',
        description:
          'An access token; a page, which cannot set headers, sends it as the query parameter token.',
      },
    },
  };
}

function byOperation(streams: readonly Stream[], describe: (stream: Stream) => JsonSchema) {
  return mapped(Object.fromEntries(streams.map((stream) => [stream.operation, stream])), describe);
}

function webServer(protocol: string, port: string): JsonSchema {
  return {
    host: '{host}:{port}',
    protocol,
    description: 'WebSocket streams: text frames, one JSON object each.',
    variables: { host: { default: 'localhost' }, port: { default: port } },
    security: [{ $ref: '#/components/securitySchemes/token' }],
  };
}
