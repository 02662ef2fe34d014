/** What disk and system refuse: in words for a person, and whether it may pass by itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatewayError } from '../../src/lib/errors.ts';
import { inWords, inWordsAndDetail, staysRefused, unlessRefused } from '../../src/lib/system-fault.ts';

const refusal = (code: string): Error => Object.assign(new Error(`${code}: refused`), { code });

for (const [code, words] of [
  ['ENOSPC', /disk is full.*Make room/],
  ['SQLITE_FULL', /disk is full.*Make room/],
  ['EROFS', /read-only.*Check it/],
  ['EIO', /disk fails.*Check it/],
  ['EACCES', /does not let.*Give them back/],
  ['EMFILE', /as many files and connections open as it may.*Close/],
  ['ERR_WORKER_INIT_FAILED', /cannot begin.*Close/],
  ['ERR_INVALID_PACKAGE_CONFIG', /cannot begin.*Close/],
  ['SQLITE_BUSY', /keeps a database .* locked.*End that program/],
  ['SQLITE_CANTOPEN', /cannot be opened.*Close/],
  ['EAGAIN', /starts nothing more.*End what nobody needs/],
  ['ENOMEM', /starts nothing more.*End what nobody needs/],
] as const)
  test(`the system fault ${code} says what a person can do, also as the cause of another error`, () => {
    assert.match(inWords(refusal(code)), words);
    assert.match(inWords(new Error('the work failed', { cause: refusal(code) })), words);
    const own = gatewayError('unprocessable', 'refused', 'Own words.', undefined, refusal(code));
    assert.equal(inWords(own), 'Own words.');
  });

test("the system's own message, which names the file, follows where no other cause is known", () => {
  assert.match(inWordsAndDetail(refusal('EIO')), /^The disk fails now.* Check it\. \(EIO: refused\)$/);
  assert.equal(inWordsAndDetail(new Error('Own words.')), 'Own words.');
});

test('other errors keep their message', () => {
  assert.equal(inWords(refusal('ENOENT')), 'ENOENT: refused');
  assert.equal(inWords('text'), 'text');
});

test('a refused read has a substitute, and a fault of the program is thrown on', () => {
  const thrown = (error: Error) =>
    unlessRefused(
      () => {
        throw error;
      },
      (refused) => refused,
    );
  const unavailable = gatewayError('unavailable', 'unavailable', 'Not now.');
  for (const error of [refusal('EIO'), refusal('ENOENT'), refusal('SQLITE_IOERR_READ'), unavailable])
    assert.equal(thrown(error), error);
  for (const error of [refusal('ERR_INVALID_ARG_TYPE'), refusal('SQLITE_ERROR'), new TypeError('ours')])
    assert.throws(() => thrown(error), error);
  assert.equal(
    unlessRefused(
      () => 5,
      () => 6,
    ),
    5,
  );
});

test('a fault that needs a person is lasting; one of a drive that is away or slow may pass', () => {
  for (const code of ['EACCES', 'EPERM', 'ENOTDIR', 'ELOOP', 'ENOENT'])
    assert.equal(staysRefused(refusal(code)), true, code);
  for (const code of ['EROFS', 'ESTALE', 'ENOTCONN', 'ETIMEDOUT', 'EHOSTDOWN', 'EIO', 'ENOMEM', 'EINTR'])
    assert.equal(staysRefused(refusal(code)), false, code);
  assert.equal(staysRefused(new Error('no folder')), true);
});
