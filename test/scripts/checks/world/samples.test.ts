import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Attempts } from '../../../../scripts/checks/world/journal.ts';
import {
  type Attribute,
  attributesOf,
  judgeAverages,
  judgeSamples,
  sampleMessage,
  sampleValue,
} from '../../../../scripts/checks/world/samples.ts';
import { loadBuiltInBlueprints } from '../../../../src/capabilities/blueprints/built-in.ts';
import { checkDeviceValue, type CompiledAttribute } from '../../../../src/capabilities/blueprints/index.ts';

const manifest = loadBuiltInBlueprints().find(({ name }) => name === 'battery-inverter')?.manifest;
assert.ok(manifest);
const ATTRIBUTES = attributesOf(manifest, 20);
const FROM_S = 1_780_000_000;

function cell(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function row(timestampS: number, attributes: readonly Attribute[] = ATTRIBUTES): string[] {
  return [String(timestampS), ...attributes.map((attribute) => cell(sampleValue(3, timestampS, attribute)))];
}

describe('samples of the fault check', () => {
  const attempts = new Attempts<number>();
  for (let second = 0; second < 10; second += 1) {
    attempts.attempt(FROM_S + second);
    if (second < 9) attempts.acknowledge(FROM_S + second);
  }
  const judge = (rows: string[][]): string[] =>
    judgeSamples(3, ATTRIBUTES, attempts, attempts.acknowledged(), rows).map(({ kind }) => kind);
  const all = (): string[][] => attempts.acknowledged().map((second) => row(second));

  it('samples of the fault check fit the blueprint', () => {
    for (const [name, value] of Object.entries(sampleMessage(3, FROM_S, attributesOf(manifest, 100)))) {
      const declaration: CompiledAttribute | undefined = manifest.telemetry[name];
      if (declaration) assert.equal(checkDeviceValue(declaration, value).problem, undefined, name);
    }
  });

  it('samples of the fault check are accepted when all acknowledged ones are there, with or without the others', () => {
    assert.equal(ATTRIBUTES.length, 20);
    assert.deepEqual(judge(all()), []);
    assert.deepEqual(judge([...all(), row(FROM_S + 9)]), []);
  });

  it('samples of the fault check are found missing, doubled, changed and invented', () => {
    assert.deepEqual(judge(all().slice(1)), ['lost']);
    assert.deepEqual(judge([...all(), row(FROM_S)]), ['doubled']);
    assert.deepEqual(judge([...all(), row(FROM_S + 50)]), ['wrong']);
    const changed = all();
    changed[0]?.splice(5, 1, '17');
    assert.deepEqual(judge(changed), ['wrong']);
    const emptied = all();
    emptied[0]?.splice(5, 1, '');
    assert.deepEqual(judge(emptied), ['lost']);
    const inPart = row(FROM_S + 9);
    inPart[5] = '';
    assert.deepEqual(judge([...all(), inPart]), ['lost'], 'a message is there whole or not at all');
  });

  it('samples of the fault check show in the average when one of them counts twice', () => {
    const [attribute] = ATTRIBUTES.filter(({ type }) => type === 'float');
    assert.ok(attribute);
    const values = [0, 1].map((second) => Number(sampleValue(3, FROM_S + second, attribute)));
    const [first = 0, second = 0] = values;
    const average = (value: number): number =>
      judgeAverages(3, [attribute], 2, () => true, [[String(FROM_S), String(value)]]).length;
    assert.equal(average((first + second) / 2), 0);
    assert.equal(average((first + first + second) / 3), 1);
    assert.equal(judgeAverages(3, [attribute], 2, () => false, [[String(FROM_S), '0']]).length, 0);
  });
});
