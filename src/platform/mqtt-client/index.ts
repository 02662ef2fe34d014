export type { LineOptions } from './line.ts';
export { loadLine } from './load-line.ts';
export { type MqttArrival, MqttClient, MqttFailure, type MqttMessage, MqttRefusal } from './mqtt-client.ts';
