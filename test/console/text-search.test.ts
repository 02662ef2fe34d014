/** What is found by what somebody typed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesSearch } from '../../src/console/text-search.ts';

test('titles are found with each typed word, in any order and case, also while a word is being typed', () => {
  for (const text of ['', ' ', 'hall', 'HALL 2 ', '2 hall', 'att in'])
    assert.ok(matchesSearch('Battery in hall 2', text), text);
  for (const text of ['hall 3', 'halls', 'batteryin'])
    assert.ok(!matchesSearch('Battery in hall 2', text), text);
});
