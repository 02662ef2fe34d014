import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  errorOfProblems,
  gatewayError,
  GatewayError,
  invalidBody,
  invalidQuery,
  messageOf,
  notFound,
} from '../../src/lib/errors.ts';

describe('a gateway error', () => {
  test('a gateway error carries kind, code and message of its first problem', () => {
    const error = new GatewayError('unprocessable', [
      { code: 'first', message: 'One.' },
      { code: 'second', message: 'Two.', details: { line: 2 } },
    ]);
    assert.ok(error instanceof Error);
    assert.equal(error.name, 'GatewayError');
    assert.deepEqual([error.kind, error.code, error.message], ['unprocessable', 'first', 'One.']);
    assert.equal(error.problems.length, 2);
  });

  test('a gateway error does not show its cause and its waiting time', () => {
    const cause = new Error('disk full');
    const problem = { code: 'unavailable', message: 'Not now.' };
    const error = new GatewayError('unavailable', [problem], { cause, retryAfterS: 3 });
    assert.equal(error.cause, cause);
    assert.equal(error.retryAfterS, 3);
    assert.deepEqual(error.problems, [problem]);
  });

  test('a gateway error has no empty details on the wire', () => {
    assert.deepEqual(Object.keys(gatewayError('internal', 'a', 'A.').problems[0]), ['code', 'message']);
    assert.deepEqual(gatewayError('internal', 'a', 'A.', { b: 1 }).problems[0].details, { b: 1 });
  });

  test('a gateway error is not made of an empty list of problems', () => {
    assert.equal(errorOfProblems('unprocessable', []), undefined);
    assert.equal(errorOfProblems('unprocessable', [{ code: 'a', message: 'A.' }])?.code, 'a');
  });

  const shorthands: [error: GatewayError, kind: string, code: string, details: unknown][] = [
    [invalidBody('name', 'x'), 'invalid_argument', 'invalid_body', { field: 'name' }],
    [invalidQuery('limit', 'x'), 'invalid_argument', 'invalid_query', { parameter: 'limit' }],
    [notFound('site_not_found', 'x'), 'not_found', 'site_not_found', undefined],
  ];
  for (const [error, kind, code, details] of shorthands)
    test(`the error ${code} names what it is about`, () => {
      assert.deepEqual([error.kind, error.code, error.problems[0].details], [kind, code, details]);
    });
});

describe('the text of something thrown', () => {
  test('the text of something thrown is the message of an error, else the value as text', () => {
    assert.equal(messageOf(new Error('broken')), 'broken');
    assert.equal(messageOf('plain'), 'plain');
    assert.equal(messageOf(undefined), 'undefined');
  });
});
