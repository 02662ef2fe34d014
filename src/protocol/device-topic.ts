/** Topics of devices. Source: docs/interface/mqtt-devices.md#topics. Pure. */

/** The address of one device: the connected hardware, and the channel of its messages. */
interface DeviceAddress {
  hardwareId: string;
  channelId: string;
}

interface DeviceTopic extends DeviceAddress {
  /** The part behind the address: `v1/telemetry`. */
  subject: string;
}

export type DeviceSubject = 'telemetry' | 'properties' | 'logs' | 'command_responses' | 'configuration_read';

/** Messages of devices, by the subject of their topics; two subjects of one kind mean the same. */
export const DEVICE_SUBJECTS: ReadonlyMap<string, DeviceSubject> = new Map([
  ['v1/telemetry', 'telemetry'],
  ['v1/register', 'properties'],
  ['v1/properties', 'properties'],
  ['v3/logs', 'logs'],
  ['v1/logs', 'logs'],
  ['v1/command/responses', 'command_responses'],
  ['v1/configuration/read', 'configuration_read'],
]);

/** Subject of the configuration that the gateway sends to a device. */
export const CONFIGURATION_SUBJECT = 'v1/configuration';

const ROOT = 'v1/';
const FROM = 'v1/from/';
const TO = 'v1/to/';
const PART = /^[A-Za-z0-9_-]{1,64}$/;

/** Whether the topic is one of the gateway's own devices, however it goes on. */
export function isDeviceTopic(topic: string): boolean {
  return topic.startsWith(ROOT);
}

/** Splits `v1/from/{hardware_id}/{channel_id}/{subject}`; undefined for every other form. */
export function parseDeviceTopic(topic: string): DeviceTopic | undefined {
  if (!topic.startsWith(FROM)) return undefined;
  const afterHardware = topic.indexOf('/', FROM.length);
  const afterChannel = topic.indexOf('/', afterHardware + 1);
  if (afterHardware < 0 || afterChannel < 0) return undefined;
  const hardwareId = topic.slice(FROM.length, afterHardware);
  const channelId = topic.slice(afterHardware + 1, afterChannel);
  if (!PART.test(hardwareId) || !PART.test(channelId)) return undefined;
  return { hardwareId, channelId, subject: topic.slice(afterChannel + 1) };
}

/** Whether a client of this hardware may publish there: only below its own address. */
export function isOwnTopic(hardwareId: string, topic: string): boolean {
  // Asked for every message: nothing is put together.
  return (
    topic.startsWith(FROM) &&
    topic.startsWith(hardwareId, FROM.length) &&
    topic[FROM.length + hardwareId.length] === '/'
  );
}

/** Whether a client of this hardware may subscribe so: wildcards only below its own address. */
export function isOwnFilter(hardwareId: string, topicFilter: string): boolean {
  return topicFilter.startsWith(`${TO}${hardwareId}/`);
}

/** Where a client of this hardware may publish and subscribe, for people. */
export function ownTrees(hardwareId: string): { publish: string; subscribe: string } {
  return { publish: `${FROM}${hardwareId}/`, subscribe: `${TO}${hardwareId}/` };
}

/** Topic on which a device publishes this subject. */
export function deviceSource({ hardwareId, channelId }: DeviceAddress, subject: string): string {
  return `${FROM}${hardwareId}/${channelId}/${subject}`;
}

/** Topic of command requests for an address. */
export function commandRequestTopic(address: DeviceAddress): string {
  return deviceTopic(address, 'v1/command/requests');
}

/** Topic of messages of this subject for an address. */
export function deviceTopic({ hardwareId, channelId }: DeviceAddress, subject: string): string {
  return `${TO}${hardwareId}/${channelId}/${subject}`;
}
