export { MqttBroker, type MqttBrokerOptions } from './broker.ts';
export { topicMatches } from '../../lib/topic-matches.ts';
export { topicFilterProblem } from './packets.ts';
export type { MqttHooks, MqttIdentity, MqttMessage, MqttRefusal, MqttSession } from './types.ts';
