/** The JSON Schema for editors says the same as the parser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@cfworker/json-schema';
import { parse } from 'yaml';
import { parseTemplate, templateJsonSchema } from '#library';
import { templateIds, templateText } from './library-files.ts';

const validator = new Validator(templateJsonSchema(), '7', false);
const faultsOf = (text: string): string[] => {
  const { valid, errors } = validator.validate(parse(text));
  return valid ? [] : errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`);
};

test('every template of the library is valid by the JSON Schema', () => {
  for (const id of templateIds) assert.deepEqual(faultsOf(templateText(id)), [], id);
});

const GOOD = `template: device/1
name: Pump
maker: Acme
products: [P]
category: sensors
sources: [manual]
verified: one source
modbus: { transports: [tcp] }
values: { flow: { input: 3, name: Flow } }
`;

test('a template that the parser refuses by its shape is invalid by the JSON Schema, too', () => {
  assert.deepEqual(faultsOf(GOOD), []);
  for (const [from, to] of [
    ['device/1', 'device/2'],
    ['maker: Acme\n', ''],
    ['[tcp]', '[udp]'],
    ['input: 3', 'input: 70000'],
    ['input: 3', 'inputs: 3'],
    ['category: sensors', 'category: nonsense'],
    ['values:', 'valves:'],
  ] as const) {
    const bad = GOOD.replace(from, to);
    assert.equal(parseTemplate(bad).template, undefined, to);
    assert.notDeepEqual(faultsOf(bad), [], to);
  }
});
