/** Bodies that make a target (docs/interface/http.md#targets). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v from 'valibot';
import { newTargetBody } from '../../../src/capabilities/targets/index.ts';

test('a new target gets no secret from the member of another kind', () => {
  const { settings, secrets } = v.parse(newTargetBody, {
    name: 'broker',
    kind: 'MQTT',
    influxdb: { url: 'http://metrics.example/write', secret: 'of the database' },
    mqtt: { url: 'mqtt://broker.example', secret: 'of the broker' },
  });
  assert.equal(settings.kind, 'MQTT');
  assert.deepEqual(secrets, { secret: 'of the broker', privateKeyPem: undefined });
});
