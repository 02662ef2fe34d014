/** The template of the JSON browser: whatever an answer has, the library takes what was chosen. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileTemplate, parseTemplate } from '#library';
import {
  addressOf,
  isNumber,
  type JsonPath,
  type JsonRow,
  jsonTemplateText,
  type Leaf,
  leafAt,
  pathText,
  shownLeaf,
} from '../../src/console/provision/json-template.ts';
import { problemsOf } from '../capabilities/blueprints/support.ts';
import { books } from '../library/library-files.ts';

const NAMES = { name: 'Cellar', maker: 'Acme', category: 'power-meters' };
const row = (path: JsonPath, leaf: Leaf, more: Partial<JsonRow> = {}): JsonRow => ({
  path,
  leaf,
  factor: '',
  title: String(path.at(-1) ?? 'Whole'),
  unit: '',
  part: '',
  ...more,
});

describe('the path of a field', () => {
  test('the path of a field is none where a template cannot name it', () => {
    for (const key of ['', 'a"b', "a'b", 'a]b', '{name}', 'a\nb'])
      assert.equal(pathText([key]), undefined, key);
  });

  test('the path of a field has names, positions, and names in quotes where they have other characters', () => {
    assert.equal(pathText(['emeters', 0, 'power']), 'emeters[0].power');
    assert.equal(pathText([0, 'pwr']), '[0].pwr');
    assert.equal(pathText(['1.8.0', 'ns:key', 'a b']), '["1.8.0"].ns:key["a b"]');
    assert.equal(pathText([]), '.');
  });

  test('the path of a field leads to existing fields only', () => {
    const content = { emeters: [{ power: 230.5 }], list: [] };
    assert.equal(leafAt(content, ['emeters', 0, 'power']), 230.5);
    for (const path of [['emeters', 1, 'power'], ['emeters', 0], ['constructor'], ['list', 'length', 'x']])
      assert.equal(leafAt(content, path), undefined, path.join());
    assert.equal(leafAt(7, []), 7);
  });
});

describe('the template of the JSON browser', () => {
  test('the template of the JSON browser contains what was chosen, and compiles', () => {
    const text = jsonTemplateText({ ...NAMES, url: 'http://192.168.1.20:8080/api?x={a}' }, [
      row(['emeters', 0, 'power'], -230.5, { title: 'Grid power', unit: 'W', part: 'grid power' }),
      row(['total'], '12.5', { title: 'Imported', unit: 'Wh', factor: '1000', part: 'grid forward' }),
      row(['relay', 'on'], true, { title: 'On' }),
      row(['1.8.0'], 'idle', { title: 'State' }),
      row(['later'], 1, { title: ' ' }),
    ]);
    assert.equal(
      text,
      [
        'template: device/1',
        'name: "Cellar"',
        'maker: "Acme"',
        'products: ["Cellar"]',
        'category: power-meters',
        'sources: [read at the device with the JSON browser]',
        'verified: one source',
        'http: { scheme: http, port: 8080 }',
        'requests: { answer: { get: "/api?x=%7Ba%7D" } }',
        'values:',
        '  grid_power: { name: "Grid power", type: float, unit: "W", property: false, from: answer, path: "emeters[0].power" }',
        '  imported: { name: "Imported", type: float, unit: "Wh", property: false, from: answer, path: "total", scale: 1000 }',
        '  on: { name: "On", type: boolean, property: false, from: answer, path: "relay.on" }',
        '  state: { name: "State", type: string, property: false, from: answer, path: "[\\"1.8.0\\"]" }',
        'roles:',
        '  - { role: grid, power: grid_power, forward: imported }',
        '',
      ]
        .join('\n')
        .replace('  on: ', '  value_on: '),
    );
    const { template, faults } = parseTemplate(text);
    assert.deepEqual(faults, []);
    const { files } = compileTemplate({ template: template ?? assert.fail(), id: 'own-x' }, books);
    const { 'manifest.yml': manifest = '', ...others } = files;
    assert.deepEqual(problemsOf(manifest, others), []);
  });

  test('the template of the JSON browser reads numbers in texts, and shows them with factor and unit', () => {
    assert.deepEqual(['1', '-2.5', ' 3 ', '', '1e3', 'a', '0x1'].map(isNumber), [
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    assert.equal(shownLeaf({ factor: '0.1', unit: 'V' }, '2304'), '230.4 V');
    assert.equal(shownLeaf({ factor: '', unit: '' }, false), 'false');
    assert.equal(shownLeaf({ factor: '', unit: '' }, undefined), '–');
    assert.equal(addressOf('http://192.168.1.20:8080/x'), '192.168.1.20:8080');
  });
});
