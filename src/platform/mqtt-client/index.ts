export { MqttClient, MqttFailure, type MqttMessage } from './mqtt-client.ts';
