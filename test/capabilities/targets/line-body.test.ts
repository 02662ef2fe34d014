import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { LineBody } from '../../../src/capabilities/targets/influxdb/line-body.ts';
import { runs } from '../../support/runs.ts';

const line = fc.record({ text: fc.string({ unit: 'grapheme', maxLength: 400 }), samples: fc.nat(64) });

describe('lines of one request', () => {
  test('lines of one request are complete, whole and in every part, one request after the other', () => {
    const body = new LineBody();
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 100 }), fc.nat(), fc.nat(), (lines, a, b) => {
        body.clear();
        for (const added of lines) body.add(added);
        const [from = 0, to = 0] = [a % (lines.length + 1), b % (lines.length + 1)].toSorted((x, y) => x - y);
        const part = lines.slice(from, to);
        assert.equal(body.lines, lines.length);
        assert.equal(body.bytes, Buffer.byteLength(lines.map(({ text }) => text).join('')));
        assert.equal(body.piece(from, to).toString(), part.map(({ text }) => text).join(''));
        assert.equal(
          body.samplesOf(from, to),
          part.reduce((sum, { samples }) => sum + samples, 0),
        );
      }),
      { numRuns: runs(300) },
    );
  });

  test('lines of one request are not changed while somebody may still read them', () => {
    const body = new LineBody();
    body.add({ text: 'of the first\n', samples: 1 });
    const first = body.piece(0, 1);
    body.clear({ isInUse: true });
    body.add({ text: 'of the next\n', samples: 1 });
    assert.equal(first.toString(), 'of the first\n');
  });

  test('lines of one request reuse their memory when nobody reads them', () => {
    const body = new LineBody();
    body.add({ text: 'of the first\n', samples: 1 });
    const { buffer } = body.piece(0, 1);
    body.clear();
    body.add({ text: 'of the next\n', samples: 1 });
    assert.equal(body.piece(0, 1).buffer, buffer);
  });
});
