/** Topic filters of MQTT. Pure. */

const SLASH = 0x2f;
const PLUS = 0x2b;
const HASH = 0x23;
const DOLLAR = 0x24;

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
