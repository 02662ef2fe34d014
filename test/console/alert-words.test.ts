/** Alerts as people read them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { detailsText } from '../../src/console/alerts/words.ts';

describe('the details of an alert', () => {
  const rows: [title: string, details: string, text: string][] = [
    ['that are a sentence stay one', 'cell 7', 'cell 7'],
    ['that only begin like JSON stay as they are', '{cell 7}', '{cell 7}'],
    ['that are a number or a list stay as they are', '[7, 8]', '[7, 8]'],
    ['are the message of a script without its key', '{"errmsg":"8 % left"}', '8 % left'],
    [
      'are named parts otherwise, without those that are null',
      '{"cell_no":7,"unit":null,"at":"top"}',
      'Cell no: 7 · At: top',
    ],
  ];
  for (const [title, details, text] of rows)
    test(title, () => {
      assert.equal(detailsText(details), text);
    });
});
