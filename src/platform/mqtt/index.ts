export type { MqttBroker, MqttHooks, MqttIdentity, MqttMessage, MqttSession } from './types.ts';
