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
  receivedAtMs: number;
  qos: 0 | 1 | 2;
  /** The client marked it as sent again: whoever must count exactly once compares with what it has. */
  duplicate: boolean;
}

/**
 * Takes one kind of message. A returned promise delays the acknowledgement until it resolves; it rejects
 * only when the data could not be stored. Bad content is the handler's to report, never to throw.
 */
export type DeviceMessageHandler = (message: DeviceMessage) => Promise<void> | void;

/** What other capabilities ask of connectivity. */
export interface Connectivity {
  /** Registers the one handler of a kind. */
  handle(kind: DeviceMessageKind, handler: DeviceMessageHandler): void;
  /** Tells of every message of a kind that could be read, beside its handler. */
  observe(kind: DeviceMessageKind, listener: (device: Device) => void): void;
  /**
   * True when a session is connected and subscribed to the device's command requests. Of a carried device the module
   * says whether its script runs; one that said nothing is asked by whether the device was heard lately.
   */
  canReceiveCommands(device: Device): boolean;
  /** Publishes a command request; resolves with the number of sessions it was written to. */
  sendCommandRequest(device: Device, request: CommandRequest): Promise<number>;
  /** Publishes a message of any other subject to the device; resolves with the number of sessions reached. */
  send(device: Device, subject: string, payload: string): Promise<number>;
  /**
   * What the module says about the script of a carried device; undefined: nothing any more. One that does not run
   * is silent before its time is over.
   */
  noteScript(device: Device, isRunning: boolean | undefined): void;
}

export interface CommandRequest {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

export interface Spokesman {
  /** As if the device had sent it; `subject` is the end of its topic. */
  tell(subject: string, body: Record<string, unknown>): void;
  /** As if its session ended. */
  close(): void;
}
