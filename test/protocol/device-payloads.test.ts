import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { safeParse } from 'valibot';
import { decodeCommandResponse } from '../../src/protocol/command.ts';
import { decodeDeviceLog } from '../../src/protocol/device-log.ts';
import { decodeMessage } from '../../src/protocol/device-message.ts';
import { COMMAND_REQUEST, DEVICE_PAYLOADS } from '../../src/protocol/device-payloads.ts';

const LIMITS = { values: 1_000, keyLength: 128, depth: 16 };

describe('the description of a message', () => {
  for (const [kind, { schema, examples }] of Object.entries({ ...DEVICE_PAYLOADS, request: COMMAND_REQUEST }))
    test(`the description of a message has examples of kind ${kind} that fit it and that the gateway reads`, () => {
      assert.ok(examples.length > 0);
      for (const example of examples) {
        assert.ok(safeParse(schema, example).success, JSON.stringify(example));
        const options = { exact: true, mayBeEmpty: false };
        const { problem } = decodeMessage(Buffer.from(JSON.stringify(example)), LIMITS, options);
        assert.equal(problem, undefined);
      }
    });

  test('the description of a message refuses a log entry that the decoder refuses', () => {
    const { schema, examples } = DEVICE_PAYLOADS.logs;
    for (const example of examples) assert.ok(decodeDeviceLog(example, 1_000));
    assert.equal(decodeDeviceLog({ severity: 'info' }, 1_000), undefined);
    assert.equal(safeParse(schema, { severity: 'info' }).success, false);
  });

  test('the description of a message refuses a command response that the decoder refuses', () => {
    const { schema, examples } = DEVICE_PAYLOADS.command_responses;
    for (const example of examples) assert.ok(decodeCommandResponse(example, 1_000));
    for (const wrong of [{ id: 'a' }, { state: 'completed' }, { id: 5, state: 'log' }]) {
      assert.equal(decodeCommandResponse(wrong, 1_000), undefined);
      assert.equal(safeParse(schema, wrong).success, false);
    }
  });
});
