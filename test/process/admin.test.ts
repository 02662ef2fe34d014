/** The local commands as real processes, beside a running gateway and without one. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  createTokens,
  type GatewayHome,
  type GatewayProcess,
  startGateway,
} from '../../scripts/support/gateway-process.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';
import { admin, adminLines, newHome } from './support.ts';

const PASSWORD = 'correct horse';
const NO_ROOT = process.getuid?.() !== 0 && 'only root ends a gateway for good';

describe('a local command is refused', () => {
  let home: GatewayHome;
  before(async () => {
    home = await newHome();
  });
  after(() => home.remove());

  const refusals = [
    [['open-door'], 64, 'unknown command "open-door"; try --help'],
    [['toString'], 64, 'unknown command "toString"; try --help'],
    [['create-token', '--role', 'VENDOR'], 64, '--role must be one of: READONLY, USER, OWNER, INSTALLER'],
    [['create-token', '--role', 'SYSTEM'], 64, '--role must be one of: READONLY, USER, OWNER, INSTALLER'],
    ...['soon', '0', '101y'].map(
      (time) =>
        [
          ['create-token', '--expires-in', time],
          64,
          '--expires-in must be a time such as 30d or 12h, and at most 100y',
        ] as const,
    ),
    [['create-token', '--dry-run'], 64, 'create-token has no option --dry-run; try --help'],
    [['restore', 'x', '--dry-run'], 64, 'restore has no option --dry-run; try --help'],
    [['factory-reset', '--yes'], 64, 'factory-reset has no option --yes; try --help'],
    [['restore', '/'], 64, '/ is a folder where a file is expected'],
    [['create-token', '--count', '0'], 64, '--count must be a number from 1 to 1000'],
    [['create-token', '--name', 'é'.repeat(256)], 64, '--name must have at most 255 characters'],
    [['create-token', 'extra'], 64, 'usage: create-token'],
    [['revoke-token'], 64, 'usage: revoke-token <id>'],
    [['revoke-token', 'unknown'], 1, 'There is no such token.'],
  ] as const;

  test('a local command with wrong words is refused in a sentence that names them', () => {
    assert.deepEqual(
      adminLines(home, ...refusals.map(([words]) => [...words])),
      refusals.map(([, status, complaint]) => ({ status, stdout: '', stderr: `${complaint}\n` })),
    );
  });

  test('a local command is refused when a pipe is in the place of a backup, and does not wait for it', () => {
    const pipe = join(home.folder, 'site.backup');
    execFileSync('mkfifo', [pipe]);
    const { status, stderr } = admin(home, 'restore', pipe);
    assert.deepEqual([status, stderr], [64, `${pipe} is a named pipe where a file is expected\n`]);
  });

  test('a local command is refused when there is no such option', () => {
    const { status, stderr } = admin(home, 'list-tokens', '--force');
    assert.equal(status, 64);
    assert.match(stderr, /--force.*try --help/);
  });

  test('a local command is refused when nobody can make its data folder', () => {
    const environment = { ...home.environment, GATEWAY_DATA_DIR: '/proc/energy-gateway' };
    const { status, stderr } = admin({ ...home, environment }, 'list-users');
    assert.equal(status, 78, stderr);
    assert.match(stderr, /^The data folder \/proc\/energy-gateway cannot be used .*GATEWAY_DATA_DIR\.\n$/);
  });

  test('a local command that waits for ready fails without a gateway, with the reason', () => {
    const { status, stderr } = admin(home, 'ready');
    assert.equal(status, 1);
    assert.match(stderr, /^The gateway does not answer at http:.*: connect ECONNREFUSED 127\.0\.0\.1/);
  });

  test('a local command is refused when the configuration is not usable', () => {
    const environment = { ...home.environment, GATEWAY_HTTP_PORT: 'x' };
    const { status, stderr } = admin({ ...home, environment }, 'list-users');
    assert.equal(status, 78);
    assert.match(stderr, /GATEWAY_HTTP_PORT/);
  });
});

describe('local commands before the first start', () => {
  test('local commands before the first start make the database, for the user of the gateway alone, and its first tokens', async () => {
    const home = await newHome();
    try {
      const { status, stdout, stderr } = admin(home, 'create-token', '--count', '3', '--role', 'readonly');
      assert.deepEqual([status, stderr], [0, '']);
      assert.match(stdout, /^(gw_[\w-]{43}\n){3}$/);
      const file = join(home.environment['GATEWAY_DATA_DIR'] ?? '', 'state.db');
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.equal(admin(home, 'list-tokens').stdout.trim().split('\n').length, 4);
    } finally {
      home.remove();
    }
  });

  test('local commands before the first start do not disturb each other', async () => {
    const home = await newHome();
    try {
      const ends = await Promise.all(
        Array.from({ length: 3 }, () => {
          const child = spawn(process.execPath, [home.entries.admin, 'create-token'], {
            cwd: PROJECT_ROOT,
            env: home.environment,
            stdio: 'ignore',
          });
          return new Promise((resolve) => void child.once('close', resolve));
        }),
      );
      assert.deepEqual(ends, [0, 0, 0]);
    } finally {
      home.remove();
    }
  });

  test('local commands save a backup and restore it on another box', async () => {
    const [home, other] = [await newHome(), await newHome()];
    const [file, passwordFile] = [join(home.folder, 'site.backup'), join(home.folder, 'password')];
    const words = [file, '--password-file', passwordFile];
    const clock = createSystemClock();
    try {
      writeFileSync(passwordFile, 'a long sentence\n');
      const [, open, saved, again] = adminLines(
        home,
        ['create-token', '--name', 'carried over'],
        ['backup', file],
        ['backup', ...words],
        ['backup', ...words],
      );
      assert.match(open?.stderr ?? '', /give --password-file/);
      assert.match(saved?.stdout ?? '', /^The backup stands in /);
      assert.match(again?.stderr ?? '', /exists already/);
      const [, foreign, ready, listed] = adminLines(
        other,
        ['create-token', '--name', 'of the other box'],
        ['restore', passwordFile, ...words.slice(1)],
        ['restore', ...words],
        ['list-tokens'],
      );
      assert.match(foreign?.stderr ?? '', /not a backup/);
      assert.match(ready?.stdout ?? '', /is ready\./);
      assert.match(listed?.stdout ?? '', /of the other box/);
      const copy = join(home.folder, 'copy.db');
      copyFileSync(join(home.folder, 'data', 'state.db'), copy);
      writeFileSync(
        join(other.folder, 'other.db'),
        Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(4_000)]),
      );
      assert.match(admin(other, 'restore', join(other.folder, 'other.db')).stderr, /not a sound state\.db/);
      writeFileSync(`${copy}-wal`, 'more');
      assert.match(admin(other, 'restore', copy).stderr, /in use or was not closed/);
      rmSync(`${copy}-wal`);
      assert.match(
        admin(other, 'restore', copy).stdout,
        /plain copy of the state of a gateway, and is ready/,
      );
      const gateway = startGateway(other, clock);
      await gateway.healthy();
      await gateway.end('SIGTERM');
      const tokens = admin(other, 'list-tokens').stdout;
      assert.match(tokens, /carried over/);
      assert.doesNotMatch(tokens, /of the other box/);
    } finally {
      clock.close();
      home.remove();
      other.remove();
    }
  });

  test('local commands restore a copy that sends nothing, and make it the original', async () => {
    const home = await newHome();
    const [file, passwordFile] = [join(home.folder, 'site.backup'), join(home.folder, 'password')];
    const words = [file, '--password-file', passwordFile];
    const clock = createSystemClock();
    try {
      writeFileSync(passwordFile, 'a long sentence\n');
      const [token, , restored, early] = adminLines(
        home,
        ['create-token', '--role', 'READONLY'],
        ['backup', ...words],
        ['restore', ...words, '--rehearsal'],
        ['end-rehearsal'],
      );
      assert.match(restored?.stdout ?? '', /It sends nothing and runs no rules/);
      assert.deepEqual([early?.status, early?.stderr], [64, 'this gateway is no rehearsal\n']);
      const gateway = startGateway(home, clock);
      await gateway.healthy();
      const answer = await fetch(`${home.baseUrl}/v3/backup/rehearsal`, {
        headers: { 'X-Service-Auth-Token': token?.stdout.trim() ?? '' },
      });
      const { rehearsal } = (await answer.json()) as { rehearsal: { is_on: boolean } };
      assert.equal(rehearsal.is_on, true);
      await gateway.end('SIGTERM');
      const [ended, again] = adminLines(home, ['end-rehearsal'], ['end-rehearsal']);
      assert.match(ended?.stdout ?? '', /^The rehearsal has ended\./);
      assert.equal(again?.status, 64);
    } finally {
      clock.close();
      home.remove();
    }
  });

  test(
    'local commands tell how the site continues here when it could not be moved',
    { skip: NO_ROOT },
    async () => {
      const home = await newHome();
      const [bin, passwordFile] = [join(home.folder, 'bin'), join(home.folder, 'password')];
      // No service of the machine that runs the tests is touched.
      const environment = { ...home.environment, PATH: `${bin}:/usr/bin:/bin` };
      try {
        mkdirSync(bin);
        writeFileSync(join(bin, 'systemctl'), '#!/bin/sh\n', { mode: 0o755 });
        writeFileSync(passwordFile, 'a long sentence\n');
        admin(home, 'create-token');
        writeFileSync(join(home.folder, 'data', 'history.db'), 'no database. '.repeat(1_000));
        const words = [join(home.folder, 'site.backup'), '--password-file', passwordFile];
        const { status, stderr } = admin({ ...home, environment }, 'move', ...words, '--confirm', hostname());
        assert.equal(status, 1);
        assert.match(stderr, /damaged[^]*The gateway is off now\..*systemctl enable --now energy-gateway/);
      } finally {
        home.remove();
      }
    },
  );

  test('local commands list what was set aside, remove it, and refuse an unknown name', async () => {
    const home = await newHome();
    try {
      const dataDir = home.environment['GATEWAY_DATA_DIR'] ?? '';
      assert.equal(admin(home, 'list-set-aside').stdout, 'No file was set aside.\n');
      mkdirSync(join(dataDir, 'telemetry-journal'));
      const names = ['history.db.damaged-1', 'history.db.of-a', 'history-missing.json'];
      for (const name of [...names, 'telemetry-journal/1.journal.damaged'])
        writeFileSync(join(dataDir, name), 'x');
      const { stdout } = admin(home, 'list-set-aside');
      for (const text of [...names, 'telemetry-journal/1.journal.damaged'])
        assert.ok(stdout.includes(text), text);
      const run = (...lines: string[][]): string[] =>
        adminLines(home, ...lines).map(({ stdout: said, stderr }) => said + stderr);
      const remove = (what: string): string[] => ['remove-set-aside', what];
      const [foreign] = run(remove('../state.db'));
      assert.match(foreign ?? '', /there is no "\.\.\/state\.db"/);
      const [one, all = '', left = ''] = run(remove('history.db.of-a'), remove('all'), ['list-set-aside']);
      assert.equal(one, 'removed history.db.of-a\n');
      assert.equal(all.split('\n').length, 4);
      assert.match(left, /^No file/);
      assert.ok(existsSync(join(dataDir, 'state.db')));
    } finally {
      home.remove();
    }
  });

  test('local commands explain themselves with --help', async () => {
    const home = await newHome();
    try {
      const lines = [[], ['--help'], ['create-token', '--help']];
      for (const { status, stdout } of adminLines(home, ...lines)) {
        assert.equal(status, 0);
        assert.match(stdout, /reset-access/);
      }
      assert.equal(existsSync(home.environment['GATEWAY_DATA_DIR'] ?? ''), false);
    } finally {
      home.remove();
    }
  });
});

/** Another user than root can only run the program where its files are open to all. */
const NOBODY = 65_534;
const canRunAsNobody =
  process.getuid?.() === 0 &&
  spawnSync(process.execPath, ['-e', 'require("better-sqlite3")(":memory:")'], {
    cwd: PROJECT_ROOT,
    uid: NOBODY,
    gid: NOBODY,
  }).status === 0;

describe('run by root', { skip: !canRunAsNobody && 'needs root, and files that all can read' }, () => {
  test('a local command run by root leaves nothing that the user of the gateway cannot read', async () => {
    const home = await newHome();
    try {
      const folder = home.environment['GATEWAY_DATA_DIR'] ?? '';
      mkdirSync(folder);
      chownSync(home.folder, NOBODY, NOBODY);
      chownSync(folder, NOBODY, NOBODY);
      assert.equal(admin(home, 'reset-access').stderr, '');
      // Files of root's own are opened before it becomes another user.
      const own = mkdtempSync(join(tmpdir(), 'gateway-test-'));
      const [file, passwordFile] = [join(own, 'site.backup'), join(own, 'password')];
      writeFileSync(passwordFile, 'a long sentence', { mode: 0o600 });
      assert.equal(admin(home, 'backup', file, '--password-file', passwordFile).stderr, '');
      assert.equal(admin(home, 'restore', file, '--password-file', passwordFile).stderr, '');
      rmSync(own, { recursive: true });
      const owners = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).uid]);
      assert.deepEqual(owners, [
        ['backups', NOBODY],
        ['claim-code', NOBODY],
        ['gateway.lock', NOBODY],
        ['restore', NOBODY],
        ['state.db', NOBODY],
      ]);
    } finally {
      home.remove();
    }
  });
});

describe('an update', { skip: process.getuid?.() !== 0 && 'needs root' }, () => {
  test('an update from what is no file is refused in a sentence that names nothing else', async () => {
    const home = await newHome();
    try {
      const folder = admin(home, 'update', home.folder);
      assert.deepEqual([folder.status, folder.stderr], [64, `${home.folder} is not a file\n`]);
      const missing = admin(home, 'update', '/nowhere/at-all.deb');
      assert.equal(missing.status, 64);
      assert.match(missing.stderr, /^ENOENT: .* '\/nowhere\/at-all\.deb'\n$/);
    } finally {
      home.remove();
    }
  });
});

describe('a running gateway', () => {
  const clock = createSystemClock();
  let home: GatewayHome;
  let gateway: GatewayProcess;
  before(async () => {
    home = await newHome();
    gateway = startGateway(home, clock);
    await gateway.healthy();
  });
  after(async () => {
    await gateway.end('SIGTERM');
    clock.close();
    home.remove();
  });

  const status = async (token: string): Promise<number> =>
    (await fetch(`${home.baseUrl}/v3/site`, { headers: { 'X-Service-Auth-Token': token } })).status;
  const post = async (path: string, body: unknown): Promise<{ status: number; token: string }> => {
    const answer = await fetch(home.baseUrl + path, { method: 'POST', body: JSON.stringify(body) });
    return { status: answer.status, token: ((await answer.json()) as { token: string }).token };
  };
  const codeFile = (): string => join(home.environment['GATEWAY_DATA_DIR'] ?? '', 'claim-code');

  test('a running gateway takes a token made by a local command at once, and refuses it once it is revoked', async () => {
    const [token = ''] = await createTokens(home, 'OWNER', 1);
    assert.equal(await status(token), 200);
    const row = admin(home, 'list-tokens').stdout.split('\n')[1] ?? '';
    assert.match(row, /^[0-9a-f-]{36}  TOKEN  OWNER  -     2026-.*never.*local command$/);
    assert.equal(admin(home, 'revoke-token', row.slice(0, 36)).status, 0);
    assert.equal(await status(token), 403);
  });

  test('a running gateway closes the streams of a token revoked by a local command', async () => {
    const [token = ''] = await createTokens(home, 'READONLY', 1);
    const socket = new WebSocket(`${home.baseUrl.replace('http', 'ws')}/v3/devices?token=${token}`);
    const closed = new Promise<number>((resolve) => {
      socket.addEventListener('close', ({ code }) => resolve(code));
    });
    await new Promise((resolve) => {
      socket.addEventListener('open', resolve);
    });
    const row = admin(home, 'list-tokens').stdout.split('\n')[1] ?? '';
    admin(home, 'revoke-token', row.slice(0, 36));
    assert.equal(await closed, 1_008);
  });

  test('a running gateway is claimed with the code of its file, loses its owner by reset-access, and is claimed anew', async () => {
    const code = readFileSync(codeFile(), 'utf8').trim();
    assert.equal(statSync(codeFile()).mode & 0o777, 0o600);
    const first = await post('/v3/auth/claim', { claim_code: code, password: PASSWORD });
    assert.deepEqual([first.status, await status(first.token)], [200, 200]);
    assert.equal(existsSync(codeFile()), false);
    assert.match(admin(home, 'list-users').stdout, /INSTALLER {2}set .*installer\n$/);
    const [kept = ''] = await createTokens(home, 'OWNER', 1);

    const { stdout } = admin(home, 'reset-access');
    const again = /^Claim code: ([\w-]{14})\n/.exec(stdout)?.[1] ?? '';
    assert.equal(readFileSync(codeFile(), 'utf8').trim(), again);
    assert.deepEqual([await status(first.token), await status(kept)], [403, 200]);
    const login = { name: 'installer', password: PASSWORD };
    assert.equal((await post('/v3/auth/login', login)).status, 401);

    const second = await post('/v3/auth/claim', { claim_code: again, password: `${PASSWORD}!` });
    assert.deepEqual([second.status, await status(second.token)], [200, 200]);
    assert.equal((await post('/v3/auth/login', login)).status, 403);
    assert.equal((await post('/v3/auth/login', { ...login, password: `${PASSWORD}!` })).status, 200);

    admin(home, 'reset-access', '--revoke-tokens');
    assert.deepEqual([await status(second.token), await status(kept)], [403, 403]);
  });

  test('a running gateway keeps the code it showed until it is claimed, over a restart too', async () => {
    const code = readFileSync(codeFile(), 'utf8');
    await gateway.end('SIGTERM');
    gateway = startGateway(home, clock);
    await gateway.healthy();
    assert.equal(readFileSync(codeFile(), 'utf8'), code);
  });
});
