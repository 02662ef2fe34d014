/** What a broker took as known of a device is not told again as the sample that it was. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LabelledSamples, MqttSettings } from '../../../src/capabilities/targets/model.ts';
import {
  latestStates,
  type State,
  stateMessages,
} from '../../../src/capabilities/targets/mqtt/home-assistant.ts';

const SETTINGS = { kind: 'MQTT', form: 'HOME_ASSISTANT', topic: 'house' } as MqttSettings;
const NOW_S = 1_800_000_000;

const sample = (timestampS: number, number: number): LabelledSamples => ({
  deviceId: 'id',
  attribute: 'power',
  type: 'float',
  times: Uint32Array.of(timestampS),
  numbers: Float64Array.of(number),
  integers: undefined,
  texts: [],
  labels: { site: 'Depot', device: 'meter', blueprint: 'Meter', profile: undefined },
});

test('a state published with its device is followed once by what another sample of its second says', () => {
  const states = new Map<string, State>();
  const payloads = (timestampS: number, number: number): unknown[] =>
    [...stateMessages(SETTINGS, [sample(timestampS, number)], states, NOW_S + 60)].map(
      ({ payload }) => payload,
    );
  const known = {
    site: 'Depot',
    device: { id: 'id', slug: 'meter' },
    values: [{ attribute: 'power', timestampS: NOW_S, value: 7.5 }],
  };
  const told = [...latestStates(SETTINGS, known, states)].map(({ payload }) => payload);
  assert.deepEqual(told, ['7.5']);
  assert.deepEqual(payloads(NOW_S, 7.5), []);
  assert.deepEqual(payloads(NOW_S, 8), ['8']);
  assert.deepEqual(payloads(NOW_S + 1, 7.5), ['7.5']);
  // What came between is at the broker now.
  assert.deepEqual(payloads(NOW_S, 7.5), []);
  // Without an acknowledgement it is sent again.
  assert.deepEqual(payloads(NOW_S + 1, 7.5), ['7.5']);
});
