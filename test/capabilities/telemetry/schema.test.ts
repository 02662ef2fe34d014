import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { safeParse } from 'valibot';
import { TimeSeriesQuery } from '../../../src/capabilities/telemetry/schema.ts';

const QUERY = { from: 1, to: 2, telemetry: [{ attribute: 'voltage' }] };

describe('a time series query on the wire', () => {
  test('a time series query on the wire is refused with a list where an object is wanted', () => {
    for (const change of [
      { gap_filling: [5] },
      { gap_filling: [] },
      { telemetry: [[]] },
      { telemetry: [['voltage']] },
    ])
      assert.equal(
        safeParse(TimeSeriesQuery, { ...QUERY, ...change }).success,
        false,
        JSON.stringify(change),
      );
  });

  test('a time series query on the wire is taken with nulls for what the caller leaves out', () => {
    const nulls = { gap_filling: null, granularity: null, aggregation: null, site: null };
    assert.equal(safeParse(TimeSeriesQuery, { ...QUERY, ...nulls }).success, true);
  });
});
