import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { parseCsv } from '../../src/lib/csv.ts';

describe('reading CSV', () => {
  it('reading CSV gives back what was written, quoted or not', () => {
    const field = fc.string({ maxLength: 8 });
    fc.assert(
      fc.property(fc.array(fc.array(field, { minLength: 2, maxLength: 5 })), (rows) => {
        const quoted = (text: string): string =>
          /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
        const text = rows.map((cells) => `${cells.map(quoted).join(',')}\n`).join('');
        assert.deepEqual(parseCsv(text), rows);
      }),
    );
  });

  it('reading CSV refuses a field that does not end', () => {
    assert.throws(() => parseCsv('"a'), /does not end/);
    assert.throws(() => parseCsv('"a"b\n'), /after a quoted field/);
  });
});
