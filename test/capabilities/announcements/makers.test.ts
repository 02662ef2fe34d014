import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Attribute, Command } from '../../../src/capabilities/announcements/model.ts';
import { type Announced, announcedDevices } from '../../../src/capabilities/announcements/proposals.ts';
import { catalogueOf } from '../../../src/capabilities/blueprints/built-in.ts';
import { compileFiles } from '../../../src/capabilities/blueprints/compile-archive.ts';
import { type Announcement, MAKERS_OF_LAMPS } from './makers.ts';
import { MAKERS_OF_HOUSES } from './makers-of-houses.ts';
import { MAKERS_OF_METERS } from './makers-of-meters.ts';
import { MAKERS_OF_GATEWAYS } from './makers-of-gateways.ts';

const ANNOUNCEMENTS = [...MAKERS_OF_LAMPS, ...MAKERS_OF_METERS, ...MAKERS_OF_HOUSES, ...MAKERS_OF_GATEWAYS];

const isOwn = (topic: string): boolean => !topic.startsWith('elsewhere/') && !topic.startsWith('v1/');
const SCOPE = { mayRead: isOwn, mayWrite: isOwn };

function announced({ topic, config }: Announcement): Announced {
  const [device, ...others] = announcedDevices('guest', new Map([[topic, JSON.stringify(config)]]), SCOPE);
  assert.ok(device);
  assert.deepEqual(others, []);
  return device;
}

const attributeText = ({ name, type, unit, enum: values }: Attribute): string =>
  [name, type, unit, values?.join('|')].filter((part) => part !== undefined).join(' ');

function commandText({ name, argument }: Command): string {
  if (!argument) return `${name}()`;
  const { name: of, min, max, enum: values } = argument;
  const bounds = min === undefined ? values?.join('|') : `${min}..${max}`;
  return `${name}(${[of, bounds].filter((part) => part !== undefined).join(' ')})`;
}

function valuesOf({ readings }: Announced, topic: string, message: string): Record<string, unknown> {
  const read = readings.filter((reading) => reading.topic === topic);
  return Object.fromEntries(
    read
      .map((reading) => [reading.attribute, reading.read(message)])
      .filter(([, value]) => value !== undefined),
  );
}

describe('the announcement of', () => {
  for (const announcement of ANNOUNCEMENTS)
    test(`the announcement of ${announcement.maker} becomes attributes and commands, or is refused in a sentence`, () => {
      const device = announced(announcement);
      const { attributes = [], commands = [], reads = [], writes = [], refusal } = announcement;
      assert.deepEqual(device.attributes.map(attributeText), attributes);
      assert.deepEqual(device.commands.map(commandText), commands);
      assert.deepEqual(device.leftOut, refusal === undefined ? [] : [refusal]);
      for (const [topic, message, values] of reads)
        assert.deepEqual(valuesOf(device, topic, message), values);
      for (const [name, value, topic, message] of writes) {
        const command = device.commands.find((one) => one.name === name);
        assert.deepEqual([command?.topic, command?.write(value)], [topic, message]);
      }
      if (attributes.length + commands.length === 0) return;
      const files = new Map([['manifest.yml', Buffer.from(device.manifest)]]);
      assert.deepEqual(compileFiles(files, catalogueOf(new Map())).problems, undefined);
    });
});

test('announcements of one device become one device, with names of their own', () => {
  const own = ANNOUNCEMENTS.filter(({ topic }) => topic.includes('0x00158d0001a2b3c4'));
  const [device, ...others] = announcedDevices(
    'guest',
    new Map(own.map(({ topic, config }) => [topic, JSON.stringify(config)])),
    SCOPE,
  );
  assert.deepEqual(others, []);
  const names = device?.attributes.map(({ name }) => name) ?? [];
  assert.equal(new Set(names).size, names.length);
  assert.ok(names.length > 10);
});

for (const [title, payload] of [
  ['no JSON', '{'],
  ['no JSON object', '[]'],
] as const)
  test(`an announcement that is ${title} is named`, () => {
    const topic = 'homeassistant/sensor/x/config';
    const [device] = announcedDevices('guest', new Map([[topic, payload]]), SCOPE);
    assert.deepEqual(device?.leftOut, [`The announcement on "${topic}" is ${title}.`]);
  });
