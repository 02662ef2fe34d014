export { MqttBroker, type MqttBrokerOptions } from './broker.ts';
export { topicFilterProblem, topicMatches } from './topic.ts';
export type { MqttHooks, MqttIdentity, MqttMessage, MqttRefusal, MqttSession } from './types.ts';
