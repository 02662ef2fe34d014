import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { limitScript, luaText, luaValue, surplusScript, timeScript } from '../../src/console/rules/simple.ts';
import { createSyntaxChecker } from '../../src/scripting/lua/index.ts';
import { runs } from '../support/runs.ts';

const action = fc.record({
  device: fc.string(),
  command: fc.string(),
  arguments: fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<unknown>),
});
const number = fc.double({ noNaN: true, noDefaultInfinity: true });

describe('a script made of answers', () => {
  const checker = createSyntaxChecker();
  const compiles = (text: string): void => assert.equal(checker.check(Buffer.from(text)), undefined, text);

  test('compiles, whatever the names and arguments are', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.string(),
        number,
        fc.nat(),
        action,
        action,
        (device, attribute, limit, holdS, on, off) => {
          compiles(limitScript({ device, attribute, isAbove: limit > 0, limit, holdS, action: on }));
          compiles(timeScript({ clock: '22:05', days: 'weekend', action: on }));
          compiles(
            surplusScript({
              device,
              attribute,
              isImportPositive: true,
              wattsOfOne: 1,
              exportW: limit,
              importW: limit,
              holdS,
              on,
              off,
            }),
          );
        },
      ),
      { numRuns: runs(200) },
    );
  });

  test('writes texts and values as Lua reads them', () => {
    assert.equal(luaText('a "b"\n\u0001'), '"a \\"b\\"\\n\\001"');
    assert.equal(
      luaValue({ mode: 'eco', on: true, list: [1, -2.5] }),
      '{ ["mode"] = "eco", ["on"] = true, ["list"] = { 1, -2.5 } }',
    );
    assert.equal(luaValue({}), '{}');
  });

  test('compares watts with what a meter measures in kilowatts', () => {
    const run = { device: 'a', command: 'b', arguments: {} };
    const answers = { device: 'meter', attribute: 'power', exportW: 2_000, importW: 200, holdS: 0 };
    const script = (isImportPositive: boolean): string =>
      surplusScript({ ...answers, isImportPositive, wattsOfOne: 1_000, on: run, off: run });
    assert.match(script(true), /^local FACTOR = 1000 /m);
    assert.match(script(false), /^local FACTOR = -1000 /m);
    assert.match(script(false), /local import_w = power \* FACTOR$/m);
  });

  test('runs at the minute and on the days that were chosen', () => {
    const script = timeScript({
      clock: '06:30',
      days: 'workdays',
      action: { device: 'a', command: 'b', arguments: {} },
    });
    assert.match(script, /add_cron\("30 6 \* \* 1-5"/);
  });
});
