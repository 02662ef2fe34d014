export type { LineOptions } from './line.ts';
export {
  loadLine,
  type MqttArrival,
  MqttClient,
  MqttFailure,
  type MqttMessage,
  MqttRefusal,
} from './mqtt-client.ts';
