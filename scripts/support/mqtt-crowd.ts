/** Many MQTT clients in one thread: as little as a device does to be reached, so that thousands fit beside a gateway. */
import { connect, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { generate } from 'mqtt-packet';
import type { Clock, Timer } from '../../src/platform/clock/index.ts';
import type { ConnectionConfiguration } from './connection-configuration.ts';

const CONNACK_BYTES = 4;
const SUBACK_BYTES = 5;
const ANSWER_TIMEOUT_MS = 30_000;

/** One device of the crowd. */
export interface CrowdMember {
  connection: ConnectionConfiguration;
  /** Address that it comes from; devices have one each. */
  localAddress: string;
  secureContext: SecureContext | undefined;
}

/** @param localNetwork first three parts of the loopback addresses that the members come from */
export function crowdOf(
  connections: readonly ConnectionConfiguration[],
  localNetwork = '127.0.1',
): CrowdMember[] {
  return connections.map((connection, index) => {
    const { credentials } = connection;
    return {
      connection,
      localAddress: `${localNetwork}.${1 + (index % 254)}`,
      secureContext:
        credentials.protocol === 'MQTTS'
          ? createSecureContext({
              key: credentials.privateKey,
              cert: credentials.certificate,
              ca: credentials.caChain,
            })
          : undefined,
    };
  });
}

/** A session that is open and subscribed. */
export interface CrowdSession {
  readonly isOpen: boolean;
  /** Resolves when the socket is closed, by whomever. */
  readonly closed: Promise<void>;
  /** Values of the device, as JSON; nobody waits for the acknowledgement. */
  measure(telemetry: string): void;
  /** Says DISCONNECT. */
  leave(): void;
}

/** Connects, logs in and subscribes to its commands. @throws Error with what the gateway answered instead */
export async function join(member: CrowdMember, clock: Clock): Promise<CrowdSession> {
  const { connection } = member;
  const socket = open(member);
  // `close` follows, and is what counts.
  socket.on('error', () => undefined);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.once('close', () => resolve());
  const timer = clock.setTimer(ANSWER_TIMEOUT_MS, () => socket.destroy());
  try {
    socket.write(connectBytes(connection));
    const connack = await take(socket, CONNACK_BYTES, timer);
    if (connack !== '20020000') throw new Error(`CONNACK ${connack}`);
    socket.write(subscribeBytes(connection));
    const suback = await take(socket, SUBACK_BYTES, timer);
    if (suback !== '9003000101') throw new Error(`SUBACK ${suback}`);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    timer.cancel();
  }
  socket.resume();
  return {
    get isOpen() {
      return !socket.destroyed;
    },
    closed,
    measure: (telemetry) => void socket.write(telemetryBytes(connection, telemetry)),
    leave: () => void socket.end(generate({ cmd: 'disconnect' })),
  };
}

function open({ connection, localAddress, secureContext }: CrowdMember): Socket {
  const socket = connect({ port: connection.mqttPort, host: '127.0.0.1', localAddress, noDelay: true });
  if (!secureContext) return socket;
  socket.on('error', () => undefined);
  return connectTls({ socket, secureContext, checkServerIdentity: () => undefined });
}

function connectBytes({ credentials }: ConnectionConfiguration): Buffer {
  const login =
    credentials.protocol === 'MQTT'
      ? { username: credentials.username, password: Buffer.from(credentials.password) }
      : {};
  return generate({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clientId: '',
    clean: true,
    keepalive: 60,
    ...login,
  });
}

function subscribeBytes({ hardwareId, channelId }: ConnectionConfiguration): Buffer {
  const topic = `v1/to/${hardwareId}/${channelId}/v1/command/requests`;
  return generate({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos: 1 }] });
}

function telemetryBytes({ hardwareId, channelId }: ConnectionConfiguration, payload: string): Buffer {
  const topic = `v1/from/${hardwareId}/${channelId}/v1/telemetry`;
  return generate({ cmd: 'publish', topic, payload, qos: 1, messageId: 2, dup: false, retain: false });
}

/** The next bytes as hexadecimal text; an answer comes whole or not at all. */
function take(socket: Socket, sizeBytes: number, timer: Timer): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      if (received.length < sizeBytes) return;
      stop();
      resolve(received.toString('hex'));
    };
    const onClose = (): void => {
      stop();
      timer.cancel();
      reject(new Error('closed'));
    };
    const stop = (): void => {
      socket.off('data', onData);
      socket.off('close', onClose);
    };
    socket.on('data', onData);
    socket.on('close', onClose);
  });
}
