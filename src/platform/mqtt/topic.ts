/** Topic names and topic filters (MQTT 3.1.1 chapter 4.7). */
export { topicMatches } from '../../lib/topic-matches.ts';
import { violation, type Violation } from './packet-types.ts';

const SLASH = 0x2f;

export const EMPTY_TOPIC = violation('MQTT-4.7.3-1', 'topic is empty');
export const WILDCARD_IN_NAME = violation('MQTT-3.3.2-2', 'topic of a publication has a wildcard');
const BAD_HASH = violation('MQTT-4.7.1-2', '# is not the last level of the filter or not alone in it');
const BAD_PLUS = violation('MQTT-4.7.1-3', '+ does not occupy a whole level of the filter');

/** Why a text is no topic name for a publication or a will. */
export function topicNameProblem(topic: string): Violation | undefined {
  if (topic.length === 0) return EMPTY_TOPIC;
  return topic.includes('+') || topic.includes('#') ? WILDCARD_IN_NAME : undefined;
}

/** Why a text is no topic filter. */
export function topicFilterProblem(filter: string): Violation | undefined {
  if (filter.length === 0) return EMPTY_TOPIC;
  const levels = filter.split('/');
  for (const [index, level] of levels.entries()) {
    if (level.includes('#') && (level !== '#' || index !== levels.length - 1)) return BAD_HASH;
    if (level.includes('+') && level !== '+') return BAD_PLUS;
  }
  return undefined;
}

export function levelCount(topic: string): number {
  let levels = 1;
  for (let index = 0; index < topic.length; index++) if (topic.charCodeAt(index) === SLASH) levels++;
  return levels;
}
