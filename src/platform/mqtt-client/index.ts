export type { LineOptions } from './line.ts';
export {
  loadLine,
  type MqttArrival,
  MqttClient,
  type MqttClientOptions,
  MqttFailure,
  type MqttMessage,
  MqttRefusal,
} from './mqtt-client.ts';
