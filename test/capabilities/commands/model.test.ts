/** The state machine as a table: every state and every input, and what each step writes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Addition,
  failureMessage,
  findCommand,
  type Input,
  isFinished,
  type OwnState,
  TRANSITIONS,
} from '../../../src/capabilities/commands/model.ts';
import type { CompiledManifest } from '../../../src/capabilities/blueprints/index.ts';

type Row = [from: OwnState, input: Input, next: OwnState | 'removed', add: Addition[]];

const ENDS: OwnState[] = ['SUCCESS', 'ERROR', 'TIMEOUT'];
const NO_RESPONSE: Input[] = [
  'published',
  'unreached',
  'not_sent',
  'send_failed',
  'silence',
  'restart',
  'module_restarted',
  'device_deleted',
];
const RESPONSES: Input[] = ['STARTED', 'IN_PROGRESS', 'SUCCEEDED', 'ERROR'];

const ROWS: Row[] = [
  ['NEW', 'unreached', 'removed', []],
  ['NEW', 'not_sent', 'ERROR', ['failure']],
  ['NEW', 'send_failed', 'ERROR', ['failure']],
  ['NEW', 'published', 'IN_PROGRESS', ['started']],
  ['NEW', 'STARTED', 'IN_PROGRESS', ['given']],
  ['NEW', 'IN_PROGRESS', 'IN_PROGRESS', ['started', 'given']],
  ['NEW', 'SUCCEEDED', 'SUCCESS', ['started', 'given']],
  ['NEW', 'ERROR', 'ERROR', ['started', 'given']],
  ['NEW', 'silence', 'TIMEOUT', ['failure']],
  ['NEW', 'restart', 'TIMEOUT', ['failure']],
  ['NEW', 'module_restarted', 'ERROR', ['failure']],
  ['NEW', 'device_deleted', 'ERROR', ['failure']],
  ['IN_PROGRESS', 'unreached', 'IN_PROGRESS', []],
  ['IN_PROGRESS', 'not_sent', 'IN_PROGRESS', []],
  ['IN_PROGRESS', 'send_failed', 'IN_PROGRESS', []],
  ['IN_PROGRESS', 'published', 'IN_PROGRESS', []],
  ['IN_PROGRESS', 'STARTED', 'IN_PROGRESS', ['given']],
  ['IN_PROGRESS', 'IN_PROGRESS', 'IN_PROGRESS', ['given']],
  ['IN_PROGRESS', 'SUCCEEDED', 'SUCCESS', ['given']],
  ['IN_PROGRESS', 'ERROR', 'ERROR', ['given']],
  ['IN_PROGRESS', 'silence', 'TIMEOUT', ['failure']],
  ['IN_PROGRESS', 'restart', 'TIMEOUT', ['failure']],
  ['IN_PROGRESS', 'module_restarted', 'ERROR', ['failure']],
  ['IN_PROGRESS', 'device_deleted', 'ERROR', ['failure']],
  ...ENDS.flatMap((end) => NO_RESPONSE.map((input): Row => [end, input, end, []])),
  ...ENDS.flatMap((end) => RESPONSES.map((input): Row => [end, input, end, ['late']])),
];

describe('state machine of an execution', () => {
  for (const [from, input, next, add] of ROWS) {
    const written = add.length > 0 ? `writes ${add.join(' and ')}` : 'writes nothing';
    test(`an execution that is ${from} with ${input} becomes ${next} and ${written}`, () => {
      assert.deepEqual(TRANSITIONS[from][input], { next, add });
    });
  }

  test('the table of an execution names every pair of state and input once', () => {
    const pairs = ROWS.map(([from, input]) => `${from} ${input}`);
    assert.equal(new Set(pairs).size, pairs.length);
    assert.equal(pairs.length, Object.keys(TRANSITIONS).length * Object.keys(TRANSITIONS.NEW).length);
  });

  test('no input changes an ended execution', () => {
    for (const from of ENDS) {
      assert.ok(isFinished(from));
      for (const input of Object.keys(TRANSITIONS.NEW) as Input[])
        assert.equal(TRANSITIONS[from][input].next, from);
    }
  });

  test('each failure of the gateway has its own sentence', () => {
    const inputs: Input[] = [
      'silence',
      'restart',
      'module_restarted',
      'device_deleted',
      'send_failed',
      'not_sent',
    ];
    const sentences = inputs.map((input) => failureMessage(input, 60_000));
    assert.equal(new Set(sentences).size, sentences.length);
    assert.equal(sentences[0], 'The device did not answer within 60 s.');
  });
});

describe('findCommand', () => {
  const command = {
    display_name: 'x',
    group: 'main',
    access_level: 'user',
    implements: [],
    aliases: ['energy.limit'],
  };
  const manifest = { commands: { set_limit: command } } as unknown as CompiledManifest;

  test('findCommand does not take a name of the language for a command', () => {
    for (const name of ['constructor', '__proto__', 'toString'])
      assert.equal(findCommand(manifest, name), undefined);
  });

  test('finds a command by name and by alias', () => {
    for (const name of ['set_limit', 'energy.limit'])
      assert.deepEqual(findCommand(manifest, name), { manifestName: 'set_limit', command });
  });
});
