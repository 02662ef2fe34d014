/** Telemetry of devices that the state does not know, as beside another state.db. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { unavailable } from '../../../src/lib/errors.ts';
import { attribute, manifestOf, startTelemetry } from './support.ts';

const MANIFEST = manifestOf({ voltage: attribute('float') });
const NOW_S = Date.UTC(2026, 2, 1, 8) / 1_000;

describe('telemetry of a device that is not known', () => {
  test('telemetry of a device that is not known stays while the disk takes no note of how long it has been there, and nothing ends', async (t) => {
    const { devices, send, query, clock, lines } = await startTelemetry(t);
    const [left, device] = [devices.add('left', MANIFEST), devices.add('battery', MANIFEST)];
    await send(left, { voltage: 1 });
    const find = devices.get;
    devices.get = (idOrSlug) => (idOrSlug === left.id ? undefined : find(idOrSlug));
    devices.mayForget = () => {
      throw unavailable('The disk is read-only now.');
    };
    await clock.advance(2 * 3_600_000);
    await send(device, { timestamp: NOW_S, voltage: 2 });
    const csv = await query({
      from: NOW_S,
      to: NOW_S + 1,
      granularity: '1s',
      aggregation: 'last',
      telemetry: [{ attribute: 'voltage' }],
    });
    assert.equal(csv.trimEnd().split('\n').length, 2);
    assert.ok(lines.some(({ message }) => message === 'devices that are not known are looked at later'));
  });
});
