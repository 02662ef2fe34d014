/** Payloads of Sparkplug B say the same to a reader that was written by its definition alone. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  asksRebirth,
  DATATYPES,
  encodeSparkplug,
  REBIRTH,
  type SparkplugMetric,
} from '../../src/protocol/sparkplug.ts';
import { decodeSparkplug } from '../support/sparkplug-decoder.ts';

const time = fc.nat({ max: 2 ** 45 });
const values = fc.oneof(
  fc.record({ datatype: fc.constant(DATATYPES.INT64), value: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n) }),
  fc.record({ datatype: fc.constant(DATATYPES.INT64), value: fc.maxSafeInteger() }),
  fc.record({ datatype: fc.constant(DATATYPES.DOUBLE), value: fc.double({ noNaN: true }) }),
  fc.record({ datatype: fc.constant(DATATYPES.BOOLEAN), value: fc.boolean() }),
  fc.record({
    datatype: fc.constant(DATATYPES.STRING),
    value: fc.option(fc.string({ unit: 'grapheme', maxLength: 400 })),
  }),
);
const metric: fc.Arbitrary<SparkplugMetric> = fc
  .tuple(
    values,
    fc.record({ name: fc.string({ unit: 'grapheme' }), timestampMs: time, isHistorical: fc.boolean() }),
    fc.option(fc.string({ unit: 'grapheme' }), { nil: undefined }),
  )
  .map(([value, rest, unit]) => ({ ...value, ...rest, unit }));

const rebirth = (change: Partial<SparkplugMetric> = {}): Buffer =>
  encodeSparkplug({
    timestampMs: 1,
    metrics: [{ name: REBIRTH, timestampMs: 1, datatype: DATATYPES.BOOLEAN, value: true, ...change }],
  });

describe('a payload of Sparkplug B', () => {
  test('a payload of Sparkplug B is read as it was written, whatever its values are', () => {
    fc.assert(
      fc.property(
        time,
        fc.nat({ max: 255 }),
        fc.array(metric, { maxLength: 20 }),
        (timestampMs, seq, metrics) => {
          const read = decodeSparkplug(encodeSparkplug({ timestampMs, metrics, seq }));
          const expected = metrics.map(({ name, timestampMs: at, datatype, value, isHistorical, unit }) => ({
            name,
            timestamp: BigInt(at),
            datatype,
            ...(isHistorical === true && { is_historical: true }),
            ...(unit !== undefined && { unit }),
            ...(value === null
              ? { is_null: true }
              : { value: datatype === DATATYPES.INT64 ? BigInt(value as number) : value }),
          }));
          assert.deepEqual(read, { timestamp: BigInt(timestampMs), metrics: expected, seq: BigInt(seq) });
        },
      ),
    );
  });

  test('a payload of Sparkplug B asks for a birth only when it says so', () => {
    assert.equal(asksRebirth(rebirth()), true);
    for (const change of [{ value: false }, { name: 'Node Control/Reboot' }, { value: null }])
      assert.equal(asksRebirth(rebirth(change)), false);
    assert.equal(asksRebirth(rebirth().subarray(0, -1)), false);
  });

  test('a payload of Sparkplug B with any bytes asks for nothing, and does no harm', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => !asksRebirth(Buffer.from(bytes))));
  });
});
