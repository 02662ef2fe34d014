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
  /** The client marked it as sent again: whoever must count exactly once compares with what it has. */
  duplicate: boolean;
  /** The gateway says it itself: nobody waits until it is stored. */
  isOwn?: boolean;
  /** On which it came; absent when the gateway says it itself. */
  session?: MqttSession | undefined;
}

/** What came, before it is known from whom. */
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

/** A session that the gateway itself has for a device, without MQTT. */
export interface LocalSession {
  /** As if the device had sent it; `subject` is the end of its topic. */
  send(subject: string, body: Record<string, unknown>): void;
  /** As if its session ended. */
  close(): void;
}
