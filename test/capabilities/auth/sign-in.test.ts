import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { GatewayError } from '../../../src/lib/errors.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { settle } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { type AuthSetup, CHEAP, startAuth } from './support.ts';

const PASSWORD = 'correct horse';

const caller = (address = '192.168.0.9', signal = new AbortController().signal) => ({ address, signal });

/** How an attempt ended: the role, or the code of the refusal, or the name of another error. */
async function outcome(attempt: Promise<{ user: { role: string } }>): Promise<string> {
  try {
    return (await attempt).user.role;
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    return error instanceof Error ? error.name : 'thrown';
  }
}

async function withUser(setup: AuthSetup): Promise<(password: string, from?: string) => Promise<string>> {
  await setup.auth.users.create('anna', 'INSTALLER', PASSWORD);
  return (password, from) => outcome(setup.auth.signIn.logIn(caller(from), 'anna', password));
}

/**
 * Advances the clock until the attempt has ended; returns its outcome and how long it took. While a password is hashed
 * the clock stands still: other attempts may wait for it, and this one does not.
 */
async function timed({ clock, hashing }: AuthSetup, attempt: Promise<string>): Promise<[string, number]> {
  const startMs = clock.monotonicMs();
  let result: string | undefined;
  void attempt.then((ended) => (result = ended));
  await until(async () => {
    await settle();
    if (result === undefined && clock.waiting > 2 && (await hashing()) === 0) await clock.advance(500);
    return result !== undefined;
  });
  return [result ?? '', Math.floor((clock.monotonicMs() - startMs) / 1_000)];
}

describe('failed logins', () => {
  test('failed logins wait longer each time, up to a limit, and the right password still works', async (t) => {
    const setup = startAuth(t);
    const logIn = await withUser(setup);
    const waits: number[] = [];
    for (let attempt = 0; attempt < 9; attempt++) {
      const [result, waitS] = await timed(setup, logIn('wrong'));
      assert.equal(result, 'access_denied');
      waits.push(waitS);
    }
    assert.deepEqual(waits, [0, 0, 0, 1, 2, 4, 8, 10, 10]);
    assert.deepEqual(await timed(setup, logIn(PASSWORD)), ['INSTALLER', 10]);
    assert.deepEqual(await timed(setup, logIn('wrong')), ['access_denied', 0]);
  });

  test('failed logins do not delay another address', async (t) => {
    const setup = startAuth(t);
    const logIn = await withUser(setup);
    for (let attempt = 0; attempt < 5; attempt++) await timed(setup, logIn('wrong', '10.0.0.66'));
    assert.deepEqual(await timed(setup, logIn(PASSWORD, '10.0.0.1')), ['INSTALLER', 0]);
  });

  test('failed logins are forgotten after a while', async (t) => {
    const setup = startAuth(t);
    const logIn = await withUser(setup);
    for (let attempt = 0; attempt < 6; attempt++) await timed(setup, logIn('wrong'));
    await setup.clock.advance(CHEAP.failureForgottenMs);
    assert.deepEqual(await timed(setup, logIn('wrong')), ['access_denied', 0]);
  });

  test('failed logins are refused when too many of one address wait', async (t) => {
    const setup = startAuth(t);
    const logIn = await withUser(setup);
    for (let attempt = 0; attempt < 4; attempt++) await timed(setup, logIn('wrong'));
    const waiting = Array.from({ length: CHEAP.attemptsPerAddress }, () => logIn('wrong'));
    assert.equal(await logIn(PASSWORD), 'too_many_requests');
    for (const attempt of waiting) assert.equal((await timed(setup, attempt))[0], 'access_denied');
  });

  test('failed logins leave no place taken when their caller goes away', async (t) => {
    const setup = startAuth(t);
    const logIn = await withUser(setup);
    for (let attempt = 0; attempt < 4; attempt++) await timed(setup, logIn('wrong'));
    const leaving = new AbortController();
    const left = Array.from({ length: CHEAP.attemptsPerAddress }, () =>
      outcome(setup.auth.signIn.logIn(caller(undefined, leaving.signal), 'anna', 'wrong')),
    );
    leaving.abort();
    assert.deepEqual(new Set(await Promise.all(left)), new Set(['unavailable']));
    assert.equal((await timed(setup, logIn(PASSWORD)))[0], 'INSTALLER');
  });

  test('failed logins are remembered for a bounded number of addresses', async (t) => {
    const setup = startAuth(t, { limits: { ...CHEAP, addresses: 2 } });
    const logIn = await withUser(setup);
    for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.3'])
      for (let attempt = 0; attempt < 4; attempt++) await timed(setup, logIn('wrong', address));
    assert.deepEqual(await timed(setup, logIn('wrong', '10.0.0.1')), ['access_denied', 0]);
  });

  test('failed logins at one account are not forgiven by a login to another', async (t) => {
    const setup = startAuth(t);
    const logIn = await withUser(setup);
    await setup.auth.users.create('mallory', 'READONLY', PASSWORD);
    const own = () => outcome(setup.auth.signIn.logIn(caller(), 'mallory', PASSWORD));
    const waits: number[] = [];
    for (let guess = 0; guess < 7; guess++) {
      waits.push((await timed(setup, logIn('wrong')))[1]);
      assert.equal((await timed(setup, own()))[0], 'READONLY');
    }
    assert.deepEqual(waits, [0, 0, 0, 1, 2, 4, 8]);
  });

  test('failed logins are slowed down from many addresses at one account, whether or not the account exists', async (t) => {
    const setup = startAuth(t);
    await withUser(setup);
    for (const name of ['anna', 'nobody']) {
      const guess = (from: string) => outcome(setup.auth.signIn.logIn(caller(from), name, 'wrong'));
      const startMs = setup.clock.monotonicMs();
      for (let address = 0; address < CHEAP.accountFailuresWithoutDelay; address++)
        await guess(`10.0.1.${address}`);
      assert.equal(setup.clock.monotonicMs(), startMs);
      for (let address = 0; address < 3; address++)
        assert.deepEqual(await timed(setup, guess(`10.0.2.${address}`)), ['access_denied', 1]);
    }
  });

  test('failed logins delay nobody at an address where he has logged in before', async (t) => {
    const setup = startAuth(t);
    const logIn = await withUser(setup);
    await setup.auth.users.create('ben', 'USER', PASSWORD);
    assert.equal(await logIn(PASSWORD, '10.0.0.1'), 'INSTALLER');
    for (let address = 0; address < CHEAP.accountFailuresWithoutDelay; address++)
      await logIn('wrong', `10.0.1.${address}`);
    const guess = (name: string) => outcome(setup.auth.signIn.logIn(caller('10.0.0.1'), name, 'wrong'));
    for (let count = 0; count < 4; count++) await timed(setup, guess('ben'));
    const waiting = Array.from({ length: CHEAP.attemptsPerAddress }, () => guess('ben'));
    assert.deepEqual(await timed(setup, logIn(PASSWORD, '10.0.0.1')), ['INSTALLER', 0]);
    await timed(setup, logIn('wrong', '10.0.1.200'));
    assert.deepEqual(await timed(setup, logIn(PASSWORD, '10.0.0.2')), ['INSTALLER', 1]);
    for (const attempt of waiting) await timed(setup, attempt);
  });

  test('failed logins at one account wait in a bounded number of places, one per address', async (t) => {
    const setup = startAuth(t, {
      limits: { ...CHEAP, accountFailuresWithoutDelay: 1, attemptsPerAccount: 2 },
    });
    const logIn = await withUser(setup);
    await logIn('wrong', '10.0.0.1');
    const waiting = ['10.0.0.1', '10.0.0.1', '10.0.0.2'].map((from) => logIn('wrong', from));
    await settle();
    assert.equal(await logIn(PASSWORD, '10.0.0.3'), 'too_many_requests');
    for (const attempt of waiting) assert.equal((await timed(setup, attempt))[0], 'access_denied');
    assert.deepEqual(await timed(setup, logIn(PASSWORD, '10.0.0.3')), ['INSTALLER', 1]);
  });

  test('failed logins do not use up the hashing places of people at their usual addresses', async (t) => {
    const setup = startAuth(t, { limits: { ...CHEAP, hashesWaiting: 1, hashesWaitingKnown: 1 } });
    const logIn = await withUser(setup);
    await logIn(PASSWORD, '10.0.0.1');
    const making = setup.auth.users.create('ben', 'USER', PASSWORD);
    const results = await Promise.all([logIn(PASSWORD, '10.0.0.2'), logIn(PASSWORD, '10.0.0.1')]);
    assert.deepEqual(results, ['too_many_requests', 'INSTALLER']);
    await making;
  });

  test('failed logins include wrong current passwords when a password is changed', async (t) => {
    const setup = startAuth(t, { limits: { ...CHEAP, accountFailuresWithoutDelay: 2 } });
    const anna = await setup.auth.users.create('anna', 'INSTALLER', PASSWORD);
    const change = async (current: string, from: string): Promise<string> => {
      const changing = setup.auth.signIn.changePassword(caller(from), anna, current, {
        password: 'another password',
      });
      return outcome(changing.then(() => ({ user: anna })));
    };
    for (const from of ['10.0.0.1', '10.0.0.2'])
      assert.deepEqual(await timed(setup, change('wrong', from)), ['access_denied', 0]);
    assert.deepEqual(await timed(setup, change('wrong', '10.0.0.3')), ['access_denied', 1]);
    assert.deepEqual(await timed(setup, change(PASSWORD, '10.0.0.4')), ['INSTALLER', 1]);
  });

  test('failed logins are refused when too many hashes wait', async (t) => {
    const setup = startAuth(t, { limits: { ...CHEAP, hashesWaiting: 1 } });
    const logIn = await withUser(setup);
    const making = setup.auth.users.create('ben', 'USER', PASSWORD);
    assert.equal(await logIn(PASSWORD), 'too_many_requests');
    await making;
    assert.equal(await logIn(PASSWORD), 'INSTALLER');
  });

  test('failed logins are slowed down at a claim too', async (t) => {
    const setup = startAuth(t);
    const { signIn, claim: kept } = setup.auth;
    const claim = (code: string) => outcome(signIn.claim(caller(), code, 'anna', PASSWORD));
    for (let attempt = 0; attempt < 4; attempt++) await timed(setup, claim('AAAA-AAAA-AAAA'));
    assert.deepEqual(await timed(setup, claim(kept.code() ?? '')), ['INSTALLER', 2]);
  });
});

describe('a password', () => {
  test('a password is stored as argon2id with the cost of the limits, differently each time', async (t) => {
    const { auth, database } = startAuth(t, { limits: { ...CHEAP, argon2MemoryKib: 128, argon2Passes: 3 } });
    await auth.users.create('anna', 'USER', PASSWORD);
    await auth.users.create('ben', 'USER', PASSWORD);
    const rows = database
      .prepare<[], { password_hash: string }>('SELECT password_hash FROM user_account')
      .all();
    for (const { password_hash: hash } of rows)
      assert.match(hash, /^\$argon2id\$v=19\$m=128,t=3,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    assert.notEqual(rows[0]?.password_hash, rows[1]?.password_hash);
  });

  test('a password costs whoever guesses it 19 MiB and two passes', async (t) => {
    const { auth, database } = startAuth(t, { limits: LIMITS.auth });
    await auth.users.create('anna', 'USER', PASSWORD);
    const row = database
      .prepare<[], { hash: string }>('SELECT password_hash AS hash FROM user_account')
      .get();
    assert.match(row?.hash ?? '', /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  test('a password still fits when it was hashed at another cost', async (t) => {
    const setup = startAuth(t);
    await withUser(setup);
    const dearer = startAuth(t, { limits: { ...CHEAP, argon2Passes: 2 } });
    const [row] = setup.database.prepare<[], Record<string, unknown>>('SELECT * FROM user_account').all();
    dearer.database
      .prepare('INSERT INTO user_account VALUES (:id, :name, :role, :password_hash, :created_at_ms)')
      .run(row);
    assert.equal(await outcome(dearer.auth.signIn.logIn(caller(), 'anna', PASSWORD)), 'INSTALLER');
  });

  test('a password is the same however its characters were composed', async (t) => {
    const { auth } = startAuth(t);
    await auth.users.create('anna', 'USER', 'm\u00fcnchen-s\u00fcd');
    const attempt = auth.signIn.logIn(caller(), 'anna', 'mu\u0308nchen-su\u0308d');
    assert.equal(await outcome(attempt), 'USER');
  });

  test('a password no longer works after access was reset', async (t) => {
    const setup = startAuth(t);
    const logIn = await withUser(setup);
    setup.open().resetAccess({ revokeTokens: false });
    assert.deepEqual([setup.auth.claim.isClaimed(), await logIn(PASSWORD)], [false, 'access_denied']);
  });
});

describe('the claim code', () => {
  const fileOf = ({ dataDir }: AuthSetup): string => join(dataDir, 'claim-code');

  test('the claim code stays the same over a restart, and is made anew when its file is lost or changed', (t) => {
    const setup = startAuth(t);
    const code = setup.auth.claim.code();
    setup.open().start();
    assert.equal(setup.auth.claim.code(), code);
    for (const spoil of [
      () => rmSync(fileOf(setup)),
      () => writeFileSync(fileOf(setup), 'AAAA-AAAA-AAAA\n'),
    ]) {
      const former = setup.auth.claim.code();
      spoil();
      assert.equal(setup.auth.claim.code(), undefined);
      setup.open().start();
      assert.match(setup.auth.claim.code() ?? '', /^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$/);
      assert.notEqual(setup.auth.claim.code(), former);
    }
  });

  test('the claim code is gone once an installer has a password, whoever made the installer', async (t) => {
    const setup = startAuth(t);
    await setup.auth.users.create('ben', 'OWNER', PASSWORD);
    assert.deepEqual([setup.auth.claim.isClaimed(), existsSync(fileOf(setup))], [false, true]);
    await setup.auth.users.create('anna', 'INSTALLER', PASSWORD);
    assert.deepEqual([setup.auth.claim.isClaimed(), existsSync(fileOf(setup))], [true, false]);
    writeFileSync(fileOf(setup), 'left behind');
    setup.open().start();
    assert.equal(existsSync(fileOf(setup)), false);
  });

  test('the claim code replaces an unreadable file, and its draft', (t) => {
    const setup = startAuth(t);
    const file = fileOf(setup);
    const obstacles: [what: string, put: (path: string) => void][] = [
      ['a pipe', (path) => execFileSync('mkfifo', [path])],
      ['a device', (path) => symlinkSync('/dev/zero', path)],
      ['nothing at the end of a link', (path) => symlinkSync('/nowhere/at-all', path)],
      ['an empty file', (path) => writeFileSync(path, '')],
      ['bytes that are no text', (path) => writeFileSync(path, Buffer.from([0xff, 0xfe, 0, 1]))],
    ];
    for (const [what, put] of obstacles)
      for (const place of [file, `${file}.new`]) {
        const former = setup.auth.claim.code();
        rmSync(file, { force: true });
        put(place);
        setup.open().start();
        const code = setup.auth.claim.code() ?? what;
        assert.match(code, /^[0-9A-Z]{4}(-[0-9A-Z]{4}){2}$/, what);
        assert.notEqual(code, former, what);
        assert.deepEqual(
          [lstatSync(file).isFile(), statSync(file).mode & 0o777, existsSync(`${file}.new`)],
          [true, 0o600, false],
          what,
        );
      }
  });

  test('the claim code is the same with what an editor adds to its file', (t) => {
    const setup = startAuth(t);
    const code = setup.auth.claim.code() ?? '';
    for (const text of [`\uFEFF${code}\r\n`, `  ${code.toLowerCase()}\n\n`]) {
      writeFileSync(fileOf(setup), text);
      setup.open().start();
      assert.equal(readFileSync(fileOf(setup), 'utf8'), text);
      assert.equal(setup.auth.claim.code(), text.trim());
    }
  });

  test('the claim code is reported and opens nothing when it cannot be kept; the start goes on, and it comes when there is room', async (t) => {
    const setup = startAuth(t);
    const file = fileOf(setup);
    const former = readFileSync(file, 'utf8');
    rmSync(file);
    mkdirSync(file);
    const auth = setup.open();
    auth.start();
    const told = setup.lines.filter(({ level }) => level === 'error');
    assert.deepEqual(
      told.map((line) => [line.message, line['claim_code_file']]),
      [
        [
          'nobody can claim the gateway, its claim code cannot be kept; move away what stands in place of the file',
          file,
        ],
      ],
    );
    assert.deepEqual(
      [auth.claim.isClaimed(), auth.claim.code(), existsSync(`${file}.new`)],
      [false, undefined, false],
    );
    rmSync(file, { recursive: true });
    await setup.clock.advance(LIMITS.auth.claimRetryMs);
    const code = auth.claim.code() ?? '';
    assert.match(code, /^[0-9A-Z-]{14}$/);
    assert.notEqual(code, former.trim());
    const { user } = await auth.signIn.claim(caller(), code, 'Anna', PASSWORD);
    assert.deepEqual([user.role, auth.claim.isClaimed()], ['INSTALLER', true]);
  });

  test('the claim code makes an existing user the installer and keeps its id', async (t) => {
    const setup = startAuth(t);
    const ben = await setup.auth.users.create('ben', 'OWNER', PASSWORD);
    const code = readFileSync(fileOf(setup), 'utf8');
    const { user } = await setup.auth.signIn.claim(caller(), code, 'Ben', 'another password');
    assert.deepEqual([user.id, user.name, user.role], [ben.id, 'ben', 'INSTALLER']);
  });

  test('the claim code is in no line of the log', (t) => {
    const setup = startAuth(t);
    assert.ok(!JSON.stringify(setup.lines).includes(setup.auth.claim.code() ?? '-'));
  });
});
