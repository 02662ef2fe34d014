export { MqttBroker, type MqttBrokerOptions } from './broker.ts';
export type { MqttHooks, MqttIdentity, MqttMessage, MqttRefusal, MqttSession } from './types.ts';
