/** What stands in the controls of a strategy's form, and the parameters that are sent for it. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { loadStrategy } from '#library';
import { entryToWire } from '../../src/capabilities/strategies/schema.ts';
import { textsOf, valuesOf } from '../../src/console/rules/parameter-texts.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

/** Of no command anything is known. */
const known = () => ({});
const FOLDER = join(PROJECT_ROOT, 'src/library/strategies');

const parametersOf = (id: string) =>
  entryToWire(
    loadStrategy(id, { declaration: readFileSync(join(FOLDER, id, 'strategy.yml'), 'utf8'), rule: '' }),
  ).parameters;

describe('the form of a strategy', () => {
  for (const entry of readdirSync(FOLDER, { withFileTypes: true }).filter((each) => each.isDirectory()))
    test(`the form of a strategy sends the defaults of ${entry.name} when nothing is typed, and null for those without`, () => {
      const parameters = parametersOf(entry.name);
      const sent = valuesOf(parameters, textsOf(parameters, {}, known), known);
      for (const { name, kind, default: fallback } of parameters)
        if (kind !== 'list') assert.deepEqual(sent[name], fallback ?? null, name);
    });

  test('the form of a strategy sends what the rule has when nothing is changed', () => {
    const given = {
      meter: { device: 'meter', attribute: 'power', inverted: true },
      loads: [
        {
          power_w: 1.5,
          on: { device: 'relay', command: 'close', arguments: {} },
          off: { device: 'relay', command: 'open', arguments: {} },
        },
      ],
      import_w: 7,
    };
    const parameters = parametersOf('surplus-loads');
    assert.partialDeepStrictEqual(valuesOf(parameters, textsOf(parameters, given, known), known), given);
    const window = { window: { from: '22:00', to: '06:00' } };
    const reserve = parametersOf('battery-reserve');
    assert.partialDeepStrictEqual(valuesOf(reserve, textsOf(reserve, window, known), known), window);
  });

  test('the form of a strategy leaves out a window of which one end is missing', () => {
    const reserve = parametersOf('battery-reserve');
    assert.equal(valuesOf(reserve, { 'window.from': '22:00' }, known)['window'], null);
  });
});
