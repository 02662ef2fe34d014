/** Places for backups: a folder, and other machines by the real programs `sftp` and `curl`. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { createTarget, sftpKey, TargetError, targetProblem } from '../../../src/platform/backup/index.ts';
import { runClient } from '../../../src/platform/backup/target.ts';
import { namesIn } from '../../../src/platform/backup/web-dav-target.ts';
import { temporaryFolder } from '../../support/workspace.ts';

const NAME = 'depot-20260310T021500Z.backup';
const SSHD = '/usr/sbin/sshd';
const KEYGEN = '/usr/bin/ssh-keygen';

function place(t: TestContext) {
  const folder = temporaryFolder(t);
  const clock = createSystemClock();
  t.after(() => clock.close());
  const dataDir = join(folder, 'data');
  mkdirSync(join(dataDir, 'backups'), { recursive: true });
  const file = join(folder, 'made.backup');
  writeFileSync(file, 'sealed bytes');
  const target = (location: string, more: { password?: string; isMountExpected?: boolean } = {}) =>
    createTarget({
      location,
      dataDir,
      username: more.password === undefined ? undefined : 'site "one"',
      password: more.password,
      isMountExpected: more.isMountExpected ?? false,
      clock,
    });
  return { folder, dataDir, file, target };
}

test('a target is refused that a shell, sftp or curl could take for an option', () => {
  for (const text of [
    '',
    'backups',
    '/media/a b',
    '/media/"x"',
    '/media/../etc',
    '/media/./x',
    'sftp://nas/backups',
    'sftp://-oProxyCommand=x@nas/backups',
    'sftp://-x@nas/backups',
    'https://nas/dav/[1-9]',
    'https://nas/{a,b}',
    'sftp://user@-nas/backups',
    'sftp://user@nas/backups\nrm x',
    'https://user:secret@nas/dav',
    'https://nas/dav?x=1',
    'file:///etc',
    'ftp://nas/x',
  ])
    assert.notEqual(targetProblem(text), undefined, text);
  for (const text of [
    '/media/backup',
    'sftp://backup@nas.local:2222/volume1/backups/',
    'https://dav.example/remote.php/dav/files/site/',
    'http://[fd00::1]:8080/dav',
  ])
    assert.equal(targetProblem(text), undefined, text);
});

describe('a folder', () => {
  test('a folder is refused in a sentence when it is missing, or nothing is mounted there any more', async (t) => {
    const { folder, file, target } = place(t);
    await assert.rejects(target('/nowhere/at-all').store(file, NAME), /There is no folder \/nowhere/);
    const unmounted = target(folder, { isMountExpected: true });
    await assert.rejects(unmounted.store(file, NAME), /Nothing is mounted at/);
    assert.equal(existsSync(join(folder, NAME)), false);
  });

  test('a folder gets the backup whole, under its name only', async (t) => {
    const { folder, file, target } = place(t);
    const to = join(folder, 'stick');
    mkdirSync(to);
    await target(to).store(file, NAME);
    assert.deepEqual(readdirSync(to), [NAME]);
    assert.equal(readFileSync(join(to, NAME), 'utf8'), 'sealed bytes');
    assert.deepEqual(await target(to).names(), [NAME]);
    await target(to).remove(NAME);
    assert.deepEqual(readdirSync(to), []);
  });
});

describe('a folder that others can write', () => {
  test('a folder that others can write gets the backup in place of a link, and the file behind the link stays', async (t) => {
    const { folder, file, target } = place(t);
    const to = join(folder, 'stick');
    mkdirSync(to);
    const precious = join(folder, 'precious');
    writeFileSync(precious, 'keep me');
    for (const name of [NAME, `${NAME}.part`]) symlinkSync(precious, join(to, name));
    await target(to).store(file, NAME);
    assert.equal(readFileSync(precious, 'utf8'), 'keep me');
    assert.equal(lstatSync(join(to, NAME)).isFile(), true);
    assert.deepEqual(readdirSync(to), [NAME]);
  });

  test('a folder that others can write is refused when it is the data folder, is in it, or is a link into it', async (t) => {
    const { folder, dataDir, file, target } = place(t);
    const link = join(folder, 'link');
    symlinkSync(join(dataDir, 'backups'), link);
    for (const to of [dataDir, join(dataDir, 'backups'), link])
      await assert.rejects(target(to).store(file, NAME), /is in the data folder of the gateway/);
  });
});

describe('the names in an answer to PROPFIND', () => {
  test('the names in an answer to PROPFIND are found whatever the prefix, the attributes and the white space are', () => {
    const xml = `<?xml version="1.0"?><D:multistatus xmlns:D="DAV:"><D:href> /dav/a.backup </D:href>
      <href xml:lang="en">https://nas/dav/b.backup</href><x:HREF>/dav/folder/</x:HREF><hrefs>/no</hrefs></D:multistatus>`;
    assert.deepEqual(namesIn(xml), ['a.backup', 'b.backup', 'folder']);
  });

  test('the names in an answer to PROPFIND are read in one pass whatever a server answers', () => {
    const blanks = ' '.repeat(4_000_000);
    for (const xml of [
      `<href>${blanks}<x`,
      `<href${blanks}`,
      '<href>'.repeat(600_000),
      '<'.repeat(4_000_000),
      `<href>${'/'.repeat(4_000_000)}`,
    ])
      assert.ok(namesIn(xml).length <= 600_000);
  });
});

/** As much of RFC 4918 as a backup needs; `spoils` changes what is stored. */
async function davServer(t: TestContext, password: string, spoils = false) {
  const files = new Map<string, Buffer>();
  const wanted = `Basic ${Buffer.from(`site "one":${password}`).toString('base64')}`;
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const answer = (status: number, body: string | Buffer = ''): void =>
      void response.writeHead(status).end(body);
    if (request.headers.authorization !== wanted) return answer(401);
    const content = files.get(path);
    switch (request.method) {
      case 'PUT':
        void buffer(request).then((bytes) => {
          files.set(path, spoils ? Buffer.from('other') : bytes);
          answer(201);
        });
        return;
      case 'GET':
        return content ? answer(200, content) : answer(404);
      case 'MOVE':
        if (!content) return answer(404);
        files.set(new URL(String(request.headers['destination'])).pathname, content);
        files.delete(path);
        return answer(201);
      case 'DELETE':
        return answer(files.delete(path) ? 204 : 404);
      default:
        return answer(
          207,
          `<d:multistatus xmlns:d="DAV:">${[path, ...files.keys()].map((href) => `<d:response><d:href>${href}</d:href></d:response>`).join('')}</d:multistatus>`,
        );
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { files, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/dav` };
}

describe('a WebDAV server', () => {
  const password = 'with \\ and "';

  for (const method of ['GET', 'PROPFIND'])
    test(`a WebDAV server is given up after little more than the expected size when it answers ${method} without an end`, async (t) => {
      const { dataDir, file, target } = place(t);
      const server = createServer((request, response) => {
        request.resume();
        if (request.method !== method) return void response.writeHead(201).end();
        response.writeHead(200);
        const write = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        };
        response.on('drain', write);
        write();
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      t.after(() => server.closeAllConnections());
      t.after(() => server.close());
      const dav = target(`http://127.0.0.1:${(server.address() as AddressInfo).port}/dav`, { password });
      const asked = method === 'GET' ? dav.store(file, NAME) : dav.names();
      await assert.rejects(asked, /sends more than was asked for/);
      assert.deepEqual(readdirSync(join(dataDir, 'backups')), []);
    });

  test('a WebDAV server is named with its status when it refuses the password', async (t) => {
    const { file, target } = place(t);
    const { url } = await davServer(t, 'another one');
    await assert.rejects(target(url, { password }).store(file, NAME), /curl ended with 22: .*401/);
  });

  test('a WebDAV server that stores something else is reported as failed', async (t) => {
    const { file, target } = place(t);
    const { files, url } = await davServer(t, password, true);
    await assert.rejects(target(url, { password }).store(file, NAME), /not what was sent/);
    assert.equal(files.has(`/dav/${NAME}`), false);
  });

  test('a WebDAV server gets the backup, lists and removes it', async (t) => {
    const { dataDir, file, target } = place(t);
    const { files, url } = await davServer(t, password);
    const dav = target(url, { password });
    await dav.store(file, NAME);
    assert.deepEqual([...files.keys()], [`/dav/${NAME}`]);
    assert.ok((await dav.names()).includes(NAME));
    await dav.remove(NAME);
    assert.equal(files.size, 0);
    assert.deepEqual(readdirSync(join(dataDir, 'backups')), []);
  });
});

/** A server of OpenSSH on loopback that knows one key, as the user of this test. */
async function sshServer(
  t: TestContext,
  publicKey: string,
  hostKeys = temporaryFolder(t),
  port = freePort(),
) {
  const folder = temporaryFolder(t);
  const host = join(hostKeys, 'host-key');
  if (!existsSync(host)) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', host]);
  writeFileSync(join(folder, 'known'), `${publicKey}\n`, { mode: 0o600 });
  const settings = [
    `HostKey ${host}`,
    `AuthorizedKeysFile ${join(folder, 'known')}`,
    'StrictModes no',
    'PidFile none',
    'UsePAM no',
    'Subsystem sftp internal-sftp',
  ];
  writeFileSync(join(folder, 'config'), settings.join('\n'));
  mkdirSync('/run/sshd', { recursive: true });
  const words = [
    '-D',
    '-e',
    '-f',
    join(folder, 'config'),
    '-p',
    String(await port),
    '-o',
    'ListenAddress=127.0.0.1',
  ];
  const server = spawn(SSHD, words, { stdio: 'ignore' });
  const end = async (): Promise<void> => {
    if (server.exitCode !== null) return;
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill();
    await ended;
  };
  t.after(end);
  while (!(await answers(await port))) await pause(50);
  return { port: await port, end };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

const whyNoSsh = !existsSync(SSHD) && 'no sshd';

describe('a machine over SFTP', { skip: whyNoSsh }, () => {
  test('a machine over SFTP gets the backup by a key of the gateway, lists and removes it', async (t) => {
    const { folder, dataDir, file, target } = place(t);
    const { port } = await sshServer(t, await sftpKey(dataDir));
    const to = join(folder, 'remote');
    const remote = target(`sftp://${userInfo().username}@127.0.0.1:${port}${to}`);
    // As after a copy of the data folder.
    chmodSync(join(dataDir, 'backups', 'sftp-key'), 0o644);
    await remote.store(file, NAME);
    assert.deepEqual(readdirSync(to), [NAME]);
    assert.deepEqual(
      (await remote.names()).filter((name) => name !== ''),
      [NAME],
    );
    await remote.remove(NAME);
    assert.deepEqual(readdirSync(to), []);
  });

  test('a machine over SFTP is refused when it does not know the key, or has another one of its own than before', async (t) => {
    const { folder, dataDir, file, target } = place(t);
    const port = freePort();
    const location = `sftp://${userInfo().username}@127.0.0.1:${await port}${folder}/remote`;
    const strangers = await sshServer(t, 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA x', undefined, port);
    await assert.rejects(target(location).store(file, NAME), TargetError);
    await strangers.end();
    await sshServer(t, await sftpKey(dataDir), undefined, port);
    await assert.rejects(target(location).store(file, NAME), /host key|verification/i);
  });
});

describe(
  'the key of the gateway for other machines',
  { skip: !existsSync(KEYGEN) && 'no ssh-keygen' },
  () => {
    const keyFiles = (dataDir: string) =>
      ['sftp-key', 'sftp-key.pub'].map((name) => join(dataDir, 'backups', name)) as [string, string];

    test('the key of the gateway for other machines stays the same, also when a cut of power left nothing of its public half', async (t) => {
      const { dataDir } = place(t);
      const key = await sftpKey(dataDir);
      assert.match(key, /^ssh-ed25519 \S+ energy-gateway$/);
      const [, publicFile] = keyFiles(dataDir);
      writeFileSync(publicFile, '');
      const again = await sftpKey(dataDir);
      assert.deepEqual(again.split(' ').slice(0, 2), key.split(' ').slice(0, 2));
      assert.equal(await sftpKey(dataDir), again);
      assert.deepEqual(readdirSync(join(dataDir, 'backups')).sort(), ['sftp-key', 'sftp-key.pub']);
    });

    test('the key of the gateway for other machines is made anew when a cut of power left nothing of its private half', async (t) => {
      const { dataDir } = place(t);
      const [privateFile, publicFile] = keyFiles(dataDir);
      for (const file of [privateFile, `${privateFile}.new`]) writeFileSync(file, '');
      writeFileSync(publicFile, 'ssh-ed25519 AAAA of nobody');
      assert.match(await sftpKey(dataDir), /^ssh-ed25519 \S+ energy-gateway$/);
      assert.match(readFileSync(privateFile, 'utf8'), /^-----BEGIN OPENSSH PRIVATE KEY-----/);
      assert.equal(statSync(privateFile).mode & 0o777, 0o600);
    });
  },
);

describe('a program of the system', () => {
  const SLEEP = { name: 'sleep', debianPackage: 'coreutils' };

  test('a program of the system is named with its package when it is missing', async (t) => {
    const { dataDir } = place(t);
    await assert.rejects(
      runClient({ name: 'no-such-program', debianPackage: 'some-package' }, [], { input: '', home: dataDir }),
      /no-such-program is missing: apt install some-package/,
    );
  });

  test('a program of the system ends with the signal when it runs for long', async (t) => {
    const { dataDir } = place(t);
    const stopping = new AbortController();
    const running = runClient(SLEEP, ['600'], { input: '', home: dataDir, signal: stopping.signal });
    stopping.abort(new Error('the gateway stops'));
    await assert.rejects(running, { name: 'AbortError' });
  });

  test('a program of the system is a failure, and not the end of the gateway, when it cannot be started for want of open files', () => {
    const source = import.meta.resolve('../../../src/platform/backup/target.ts');
    const program = `
      import { closeSync, openSync } from 'node:fs';
      import { runClient } from '${source}';
      const held = [];
      try { for (;;) held.push(openSync('/dev/null')); } catch (error) { held.reverse(); }
      const words = await runClient(${JSON.stringify(SLEEP)}, ['0'], { input: '', home: '/' }).catch((error) => error.message);
      setImmediate(() => {
        held.forEach((file) => closeSync(file));
        console.log(words);
      });`;
    const words = ['ulimit -n 100; exec "$0" --input-type=module -e "$1"', process.execPath, program];
    const { status, stdout, stderr } = spawnSync('sh', ['-c', ...words], { encoding: 'utf8' });
    assert.deepEqual([status, stdout], [0, 'spawn sleep EMFILE\n'], stderr);
  });
});
