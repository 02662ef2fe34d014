/** The control of a command, and the value that shows what it has done. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kindOf, shownBy } from '../../src/console/parts/command-kind.ts';
import { isQuick } from '../../src/console/parts/quick.ts';
import type { Command, Manifest } from '../../src/console/shapes.ts';

const command = (given: Record<string, object>, ui?: object): Command =>
  ({ display_name: 'X', group: 'g', access_level: 'user', arguments: given, ui }) as unknown as Command;

describe('the control of a command', () => {
  const rows: [title: string, given: Record<string, object>, kind: object | undefined][] = [
    ['is a button without arguments', {}, { kind: 'button' }],
    ['is a form with two arguments', { a: { type: 'boolean' }, b: { type: 'boolean' } }, undefined],
    ['is a form for a text', { a: { type: 'string' } }, undefined],
    ['is a form for a number without bounds', { a: { type: 'float', min: 0 } }, undefined],
    ['is a form for a secret', { a: { type: 'string', enum: ['x', 'y'], sensitive: true } }, undefined],
    [
      'is a switch for yes or no',
      { on: { type: 'boolean' } },
      { kind: 'switch', argument: 'on', on: true, off: false },
    ],
    [
      'is a switch for on and off by name',
      { turn: { type: 'string', enum: ['ON', 'OFF'] } },
      { kind: 'switch', argument: 'turn', on: 'ON', off: 'OFF' },
    ],
    [
      'is a choice of listed values',
      { phases: { type: 'integer', enum: [1, 3] } },
      {
        kind: 'select',
        argument: 'phases',
        choices: [
          { value: 1, text: '1' },
          { value: 3, text: '3' },
        ],
      },
    ],
    [
      'is a slider for a number with bounds, in steps that a finger can hit',
      { power: { type: 'integer', min: 0, max: 10_000 } },
      { kind: 'slider', argument: 'power', min: 0, max: 10_000, step: 100 },
    ],
    [
      'has whole steps for a whole number',
      { current: { type: 'integer', min: 6, max: 32 } },
      { kind: 'slider', argument: 'current', min: 6, max: 32, step: 1 },
    ],
  ];
  for (const [title, given, kind] of rows) test(title, () => assert.deepEqual(kindOf(command(given)), kind));

  test('the control of a command is for daily use only as the blueprint says', () => {
    const uses = [
      undefined,
      {},
      { quick_access: true },
      { mobile_quick_access: true },
      { quick_access: 'yes' },
    ];
    assert.deepEqual(
      uses.map((ui) => isQuick(command({}, ui))),
      [false, false, true, true, false],
    );
  });

  test('the control of a command is shown by the value that its name or argument names, of a fitting type', () => {
    const telemetry = {
      current_limit: { type: 'float' },
      switch_on: { type: 'boolean' },
      mode: { type: 'string' },
      enabled: { type: 'float' },
    } as unknown as Manifest['telemetry'];
    const shown = (name: string, argument: string, type: 'float' | 'boolean' | 'string') =>
      shownBy(name, argument, { type }, { telemetry });
    assert.equal(shown('set_current_limit', 'current', 'float'), 'current_limit');
    assert.equal(shown('set_switch', 'turn', 'string'), 'switch_on');
    assert.equal(shown('set_operating_mode', 'mode', 'string'), 'mode');
    assert.equal(shown('set_charging', 'enabled', 'boolean'), undefined);
  });
});
