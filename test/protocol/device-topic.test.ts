import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assert as holds, property, string, stringMatching } from 'fast-check';
import {
  commandRequestTopic,
  deviceTopic,
  isOwnFilter,
  isOwnTopic,
  parseDeviceTopic,
} from '../../src/protocol/device-topic.ts';

const ADDRESS = { hardwareId: 'H', channelId: 'ucm' };

describe('parseDeviceTopic (docs/interface/mqtt-devices.md#topics)', () => {
  const foreign = [
    '',
    'v1/from',
    'v1/from/',
    'v1/from/H',
    'v1/from/H/ucm',
    'v1/from//ucm/v1/telemetry',
    'v1/from/H//v1/telemetry',
    'v1/to/H/ucm/v1/telemetry',
    'V1/from/H/ucm/v1/telemetry',
    '/v1/from/H/ucm/v1/telemetry',
    `v1/from/${'H'.repeat(65)}/ucm/v1/telemetry`,
    'v1/from/H+/ucm/v1/telemetry',
    'v1/from/H/u#m/v1/telemetry',
    'v1/from/H/ä/v1/telemetry',
    'v1/from/H H/ucm/v1/telemetry',
  ];
  for (const topic of foreign)
    test(`parseDeviceTopic finds no address in "${topic.slice(0, 40)}"`, () =>
      assert.equal(parseDeviceTopic(topic), undefined));

  test('parseDeviceTopic splits address and subject', () => {
    assert.deepEqual(parseDeviceTopic('v1/from/H/ucm/v1/command/responses'), {
      ...ADDRESS,
      subject: 'v1/command/responses',
    });
    assert.deepEqual(parseDeviceTopic('v1/from/H/ucm/'), { ...ADDRESS, subject: '' });
  });

  test('parseDeviceTopic reads any address and subject that were joined', () => {
    const part = stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
    holds(
      property(part, part, string(), (hardwareId, channelId, subject) =>
        assert.deepEqual(parseDeviceTopic(`v1/from/${hardwareId}/${channelId}/${subject}`), {
          hardwareId,
          channelId,
          subject,
        }),
      ),
    );
  });
});

test('a client’s own topics begin with its whole hardware id', () => {
  assert.equal(isOwnTopic('H', 'v1/from/H/ucm/v1/telemetry'), true);
  for (const topic of ['v1/from/H', 'v1/from/HX/ucm/x', 'v1/to/H/ucm/x', 'v1/from/h/ucm/x'])
    assert.equal(isOwnTopic('H', topic), false, topic);
  assert.equal(isOwnFilter('H', 'v1/to/H/#'), true);
  for (const filter of ['v1/to/+/#', 'v1/to/#', 'v1/to/HX/#', '#', 'v1/from/H/#'])
    assert.equal(isOwnFilter('H', filter), false, filter);
});

test('topics towards a device begin with its address', () => {
  assert.equal(commandRequestTopic(ADDRESS), 'v1/to/H/ucm/v1/command/requests');
  assert.equal(deviceTopic(ADDRESS, 'v1/configuration'), 'v1/to/H/ucm/v1/configuration');
});
