import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type FieldSettings, fieldSettings } from '../../src/console/field-place.ts';
import type { Argument } from '../../src/console/shapes.ts';

const parameter = (type: string, more: object = {}): Argument =>
  ({ display_name: 'Some', type, ...more }) as Argument;
const UNIT = { unit_id: parameter('integer') };
const text = parameter('string');
const integer = parameter('integer');

type Row = [
  title: string,
  declared: Record<string, Argument>,
  texts: Record<string, string>,
  expected: FieldSettings['place'] | 'nothing yet' | 'no place',
];

const ROWS: Row[] = [
  [
    'a connection URI',
    { address: parameter('string', { format: 'connection_uri' }) },
    { address: ' tcp://a:1 ' },
    { uri: 'tcp://a:1' },
  ],
  [
    'a connection URI that is not typed yet',
    { address: parameter('string', { format: 'connection_uri' }) },
    { address: 'a:1' },
    'nothing yet',
  ],
  ['a text that is one', { where: text }, { where: 'port://rs485' }, { uri: 'port://rs485' }],
  [
    'a host, a port and a unit',
    { ip_address: text, port: integer, ...UNIT },
    { ip_address: '10.0.0.2', port: '1502' },
    { uri: 'tcp://10.0.0.2:1502' },
  ],
  ['a host of IP version 6', { host: text, ...UNIT }, { host: 'fe80::1' }, { uri: 'tcp://[fe80::1]' }],
  [
    'a host without the port of Modbus and without a unit',
    { host: text, port: integer },
    { host: 'a', port: '80' },
    'no place',
  ],
  [
    'a host with the port of Modbus',
    { host: text, port: integer },
    { host: 'a', port: '502' },
    { uri: 'tcp://a:502' },
  ],
  ['a host that is not typed yet', { host: text, ...UNIT }, {}, 'nothing yet'],
  [
    'the speed of a line',
    { baudrate: integer, parity: text, stop_bits: integer },
    { baudrate: '19200', parity: 'even', stop_bits: '2' },
    { uri: 'port://rs485', baud_rate: 19_200, parity: 'E', stop_bits: 2 },
  ],
  ['other things', { api_key: text, interval: integer }, { api_key: 'x' }, 'no place'],
];

describe('settings say where a device is', () => {
  for (const [title, declared, texts, expected] of ROWS)
    test(`settings say where a device is only if they can: ${title}`, () => {
      const settings = fieldSettings(declared, texts);
      const place = settings === undefined ? 'no place' : (settings.place ?? 'nothing yet');
      assert.deepEqual(place, expected);
    });

  test('settings that say where a device is give every unit that they name', () => {
    const declared = {
      address: parameter('string', { format: 'connection_uri' }),
      unit_id: integer,
      meter_unit_id: integer,
      slave_address: integer,
      interval: integer,
      unit: text,
    };
    const { units } = fieldSettings(declared, { unit_id: '3', meter_unit_id: '256' }) ?? assert.fail();
    assert.deepEqual(
      units.map(({ name, id }) => [name, id]),
      [
        ['unit_id', 3],
        ['meter_unit_id', undefined],
        ['slave_address', undefined],
      ],
    );
  });
});
