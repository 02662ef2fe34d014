export { createMqttBroker, type MqttBrokerOptions } from './broker.ts';
export { topicMatches } from './topic.ts';
export type {
  MqttBroker,
  MqttHooks,
  MqttIdentity,
  MqttLimits,
  MqttMessage,
  MqttRefusal,
  MqttSession,
} from './types.ts';
