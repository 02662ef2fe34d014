/** Topic names and topic filters (MQTT 3.1.1 chapter 4.7). */
import { violation, type Violation } from './packet-types.ts';

const SLASH = 0x2f;
const PLUS = 0x2b;
const HASH = 0x23;
const DOLLAR = 0x24;

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

/**
 * Whether a valid filter matches a topic name. `#` also matches its parent level ([MQTT-4.7.1-2]); a
 * wildcard at the front does not match a topic that begins with `$` ([MQTT-4.7.2-1]).
 */
export function topicMatches(filter: string, topic: string): boolean {
  const front = filter.charCodeAt(0);
  if (topic.charCodeAt(0) === DOLLAR && (front === PLUS || front === HASH)) return false;
  let at = 0;
  for (let index = 0; index < filter.length; index++) {
    const code = filter.charCodeAt(index);
    if (code === HASH) return true;
    if (code === PLUS) {
      while (at < topic.length && topic.charCodeAt(at) !== SLASH) at++;
    } else if (at < topic.length && topic.charCodeAt(at) === code) {
      at++;
    } else {
      // The parent level itself: `a/#` against `a`.
      return at === topic.length && code === SLASH && index === filter.length - 2 && filter.endsWith('#');
    }
  }
  return at === topic.length;
}
