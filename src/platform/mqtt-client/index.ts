export { type MqttArrival, MqttClient, MqttFailure, type MqttMessage, MqttRefusal } from './mqtt-client.ts';
