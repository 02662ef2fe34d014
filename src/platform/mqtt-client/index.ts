export { type MqttArrival, MqttClient, MqttFailure, type MqttMessage } from './mqtt-client.ts';
