/** The messages of devices over MQTT and of the WebSocket streams as one AsyncAPI 3 document. */
import type { JsonSchema, PathParameter } from '../platform/http-description/index.ts';
import type { Stream } from '../platform/http/index.ts';
import { describeDevices } from './device-interface.ts';
import { describeStreams } from './stream-interface.ts';

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
