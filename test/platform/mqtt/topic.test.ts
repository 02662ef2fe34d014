import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { array, assert as check, constantFrom, property } from 'fast-check';
import { topicMatches } from '../../../src/lib/topic-matches.ts';
import { topicFilterProblem, topicNameProblem } from '../../../src/platform/mqtt/packets.ts';
import { runs } from '../../support/runs.ts';

/** The definition of chapter 4.7 level by level, without regard to speed. */
function matchesByLevels(filter: readonly string[], topic: readonly string[]): boolean {
  const [wanted, ...filterRest] = filter;
  const [level, ...topicRest] = topic;
  if (wanted === undefined) return level === undefined;
  if (wanted === '#') return true;
  if (level === undefined) return false;
  return (wanted === '+' || wanted === level) && matchesByLevels(filterRest, topicRest);
}

function matchesByDefinition(filter: string, topic: string): boolean {
  if (topic.startsWith('$') && (filter.startsWith('+') || filter.startsWith('#'))) return false;
  return matchesByLevels(filter.split('/'), topic.split('/'));
}

const rows: [filter: string, topic: string, isMatch: boolean, statement: string][] = [
  ['sport/#', 'sport', true, 'MQTT-4.7.1-2'],
  ['sport/tennis/player1/#', 'sport/tennis/player1/score/wimbledon', true, 'MQTT-4.7.1-2'],
  ['sport/#', 'sports', false, 'MQTT-4.7.1-2'],
  ['#', 'a/b', true, 'MQTT-4.7.1-2'],
  ['#', '/', true, 'MQTT-4.7.1-2'],
  ['sport/+', 'sport', false, 'MQTT-4.7.1-3'],
  ['sport/+', 'sport/', true, 'MQTT-4.7.1-3'],
  ['+/+', '/finance', true, 'MQTT-4.7.1-3'],
  ['/+', '/finance', true, 'MQTT-4.7.1-3'],
  ['+', '/finance', false, 'MQTT-4.7.1-3'],
  ['#', '$SYS/x', false, 'MQTT-4.7.2-1'],
  ['+/x', '$SYS/x', false, 'MQTT-4.7.2-1'],
  ['$SYS/#', '$SYS/x', true, 'MQTT-4.7.2-1'],
  ['a/b', 'a/B', false, 'MQTT-4.7.3-4'],
  ['a/b', 'a/b/', false, 'MQTT-4.7.3-4'],
  ['a/b/', 'a/b', false, 'MQTT-4.7.3-4'],
];

describe('a topic filter', () => {
  for (const [filter, topic, isMatch, statement] of rows)
    test(`[${statement}] the filter ${filter} ${isMatch ? 'matches' : 'does not match'} ${topic}`, () => {
      assert.equal(topicMatches(filter, topic), isMatch);
      assert.equal(matchesByDefinition(filter, topic), isMatch);
    });

  test('a topic filter matches as the definition says, for any levels', () => {
    const levels = array(constantFrom('', 'a', 'b', 'ab', '+', '#', '$', '$a'), {
      minLength: 1,
      maxLength: 5,
    });
    check(
      property(levels, levels, (filterLevels, topicLevels) => {
        const filter = filterLevels.join('/');
        const topic = topicLevels.join('/');
        if (topicFilterProblem(filter) || topicNameProblem(topic)) return;
        assert.equal(topicMatches(filter, topic), matchesByDefinition(filter, topic), `${filter} ${topic}`);
      }),
      { numRuns: runs(20_000) },
    );
  });
});
