/** What a package says of its versions, as the console shows it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notesBlocks } from '../../src/console/box/release-notes.ts';

test('headings, lists with broken lines and paragraphs of a changelog are distinguished', () => {
  const markdown =
    '## 0.2.0\n\n### Features\n\n- Pumps are\n  quieter.\n- Nothing <b>else</b>.\n\nMore is\nto come.\n\n## 0.1.0\n- first';
  assert.deepEqual(notesBlocks(markdown), [
    { kind: 'heading', text: '0.2.0', isOfVersion: true },
    { kind: 'heading', text: 'Features', isOfVersion: false },
    { kind: 'list', items: ['Pumps are quieter.', 'Nothing <b>else</b>.'] },
    { kind: 'paragraph', text: 'More is to come.' },
    { kind: 'heading', text: '0.1.0', isOfVersion: true },
    { kind: 'list', items: ['first'] },
  ]);
  assert.deepEqual(notesBlocks(''), []);
});
