import type { EpochMs } from '../../lib/time.ts';
import type { MqttMessage, MqttSession } from '../../platform/mqtt/index.ts';
import type { DeviceSubject } from '../../protocol/device-topic.ts';
import type { Device } from '../devices/index.ts';

/** Kinds of messages a device sends. */
export type DeviceMessageKind = DeviceSubject | 'module';

/** One message of a known device, its JSON object decoded within the limits. */
export interface DeviceMessage {
  device: Device;
  kind: DeviceMessageKind;
  /** A null-prototype object; keys such as `__proto__` are plain names in it. */
  body: Record<string, unknown>;
  /** Bytes of the payload, for accounting. */
  sizeBytes: number;
  receivedAtMs: EpochMs;
  qos: 0 | 1 | 2;
  /** The client marked it as sent again: handlers that count exactly once compare it with what they have. */
  duplicate: boolean;
  /** True for values of the gateway or a module about itself, whose storage is not awaited. */
  isOwn?: boolean;
  /** The session on which it came; absent when the gateway itself sent it. */
  session?: MqttSession | undefined;
}

/** A message before its device is known. */
export type Delivered = Omit<MqttMessage, 'session'> & Pick<DeviceMessage, 'isOwn' | 'session'>;

/**
 * Takes one kind of message. A returned promise delays the acknowledgement until it resolves; it rejects
 * only when the data could not be stored. Bad content is the handler's to report, never to throw.
 */
export type DeviceMessageHandler = (message: DeviceMessage) => Promise<void> | void;

/** A command on its way to a device. */
export interface CommandRequest {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** A session of the gateway itself on behalf of a device, without MQTT. */
export interface LocalSession {
  /** Handles the message as if the device had sent it; `subject` is the end of its topic. */
  send(subject: string, body: Record<string, unknown>): void;
  /** The same for data whose sender waits for the acknowledgement: resolves when it is stored. */
  store(subject: string, body: Record<string, unknown>): Promise<void> | void;
  /** Ends the session. */
  close(): void;
}
