/** Accounts of MQTT clients of other makers, and the topics that they may use. */
import { topicFilterProblem, topicMatches } from '../../platform/mqtt/index.ts';
import type { mqttGuest } from './tables.ts';

export type MqttGuest = Omit<typeof mqttGuest.$inferSelect, 'salt' | 'sha256'>;

/** Where devices announce themselves in the format of Home Assistant; every guest may publish there. */
export const DISCOVERY_PREFIX = 'homeassistant';
/** Topic on which that software announces its start; devices that subscribe to it announce themselves again. */
export const DISCOVERY_STATUS_TOPIC = `${DISCOVERY_PREFIX}/status`;

/** First level of the topics of the gateway's own devices. */
const OWN_ROOT = 'v1';

/** No hardware id looks so. */
const KEY_PREFIX = 'guest:';
/** The key of the identity of an account. */
export const keyOfGuest = (id: string): string => `${KEY_PREFIX}${id}`;
/** The account of such a key; undefined for that of a device. */
export const guestOfKey = (key: string): string | undefined =>
  key.startsWith(KEY_PREFIX) ? key.slice(KEY_PREFIX.length) : undefined;

/** A topic without a wildcard means itself and everything below it. */
export function filterOf(topic: string): string {
  return /[+#]/.test(topic) ? topic : `${topic.replace(/\/$/, '')}/#`;
}

/** Why a guest cannot have these topics. */
export function topicProblem(topic: string): string | undefined {
  const problem = topicFilterProblem(topic)?.problem;
  if (problem !== undefined) return `is no topic filter: ${problem}`;
  const [root = ''] = topic.split('/');
  if (root === '#' || root === '+' || root === '')
    return 'must begin with a name: the topics of one device, not of everybody';
  if (root === OWN_ROOT)
    return `must not begin with "${OWN_ROOT}": these topics are those of the gateway's own devices`;
  return root.startsWith('$') ? 'must not begin with "$"' : undefined;
}

/** Whether a topic name is within one of the filters, or an announcement. */
export function mayPublishTo(filters: readonly string[], topic: string): boolean {
  if (filters.some((filter) => topicMatches(filter, topic))) return true;
  return topic.startsWith(`${DISCOVERY_PREFIX}/`) && topic !== DISCOVERY_STATUS_TOPIC;
}

/** Whether all topics of `asked` are within one of the filters. */
export function maySubscribeTo(filters: readonly string[], asked: string): boolean {
  if (filters.some((filter) => covers(filter, asked))) return true;
  return asked === DISCOVERY_STATUS_TOPIC;
}

/** Whether a scope such as `a/#` contains every topic of another filter. */
function covers(filter: string, asked: string): boolean {
  const levels = asked.split('/');
  const allowed = filter.split('/');
  for (const [index, level] of allowed.entries()) {
    if (level === '#') return true;
    const given = levels[index];
    if (given === undefined || given === '#') return false;
    if (level !== '+' && level !== given) return false;
  }
  return levels.length === allowed.length;
}
