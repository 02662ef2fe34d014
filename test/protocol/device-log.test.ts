import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assert as holds, dictionary, jsonValue, property, string } from 'fast-check';
import { decodeDeviceLog } from '../../src/protocol/device-log.ts';
import { CHARACTER } from '../support/characters.ts';

const decode = (body: Record<string, unknown>, limitBytes = 16_384) => decodeDeviceLog(body, limitBytes);

describe('decodeDeviceLog (docs/interface/mqtt-devices.md#logs)', () => {
  for (const body of [{}, { message: null }, { message: 5 }, { message: ['a'] }])
    test(`decodeDeviceLog refuses ${JSON.stringify(body)}: it has no text`, () =>
      assert.equal(decode(body), undefined));

  test('decodeDeviceLog fills in what is missing', () => {
    assert.deepEqual(decode({ message: '' }), {
      message: '',
      severity: 'info',
      persist: false,
      deviceTimeS: undefined,
    });
  });

  test('decodeDeviceLog reads what the public SDK sends', () => {
    assert.deepEqual(
      decode({ timestamp: 1_772_352_000, message: 'hot', severity: 'warning', persist: true }),
      {
        message: 'hot',
        severity: 'warning',
        persist: true,
        deviceTimeS: 1_772_352_000,
      },
    );
  });

  const severities: [given: unknown, read: string][] = [
    ['debug', 'debug'],
    ['ERROR', 'error'],
    ['fatal', 'info'],
    [3, 'info'],
    [null, 'info'],
  ];
  for (const [severity, read] of severities)
    test(`decodeDeviceLog reads severity ${JSON.stringify(severity)} as ${read}`, () =>
      assert.equal(decode({ message: 'x', severity })?.severity, read));

  for (const persist of ['true', 1, null, {}])
    test(`decodeDeviceLog takes persist ${JSON.stringify(persist)} for false`, () =>
      assert.equal(decode({ message: 'x', persist })?.persist, false));

  const times: [given: unknown, read: number | undefined][] = [
    [1_772_352_000.9, 1_772_352_000],
    [1_772_352_000_123, 1_772_352_000],
    [12, 12],
    [-1, undefined],
    ['1772352000', undefined],
    [null, undefined],
    [1e300, undefined],
  ];
  for (const [timestamp, read] of times)
    test(`decodeDeviceLog reads timestamp ${JSON.stringify(timestamp)} as ${read}`, () =>
      assert.equal(decode({ message: 'x', timestamp })?.deviceTimeS, read));

  test('decodeDeviceLog cuts a message at its limit on the border of a character', () => {
    assert.equal(decode({ message: 'x'.repeat(16_385) })?.message.length, 16_384);
    assert.equal(decode({ message: 'aéé' }, 4)?.message, 'aé');
  });

  test('decodeDeviceLog returns a well-formed entry within its limit, whatever arrives', () => {
    holds(
      property(dictionary(string(), jsonValue()), string({ unit: CHARACTER }), (rest, message) => {
        const entry = decode({ ...rest, message }, 20);
        assert.ok(entry);
        assert.ok(Buffer.byteLength(entry.message) <= 20);
        assert.ok(entry.message.isWellFormed());
      }),
    );
  });
});
