/** Starting on a box where something is wrong: what ends the program says so, what need not does not. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import type { GatewayHome } from '../../scripts/support/gateway-process.ts';
import { localCopies } from '../../src/platform/sqlite/index.ts';
import { until } from '../support/until.ts';
import { runToEnd, startHealthy, temporaryHome, usedHome } from './support.ts';

const dataDirOf = (home: GatewayHome): string => join(home.folder, 'data');

describe('the gateway does not start', () => {
  test('the gateway does not start when the configuration is wrong: it names every fault and ends with 78', async (t) => {
    const home = await temporaryHome(t);
    const file = join(home.folder, 'gateway.yml');
    writeFileSync(file, 'log_level: loud\nhttp_prot: 80\n');
    const { code, stdout, stderr } = await runToEnd(home, {
      GATEWAY_CONFIG_FILE: file,
      GATEWAY_HTTP_PORT: '70000',
      GATEWAY_SITE_TIMEZONE: 'Mars/Olympus',
      GATEWAY_COLOUR: 'red',
    });
    assert.equal(code, 78);
    assert.equal(stdout, '');
    for (const fault of [
      'log_level',
      'http_prot',
      'GATEWAY_HTTP_PORT',
      'GATEWAY_SITE_TIMEZONE',
      'GATEWAY_COLOUR',
    ])
      assert.match(stderr, new RegExp(`^  - .*${fault}`, 'm'));
    assert.doesNotMatch(stderr, /^ {4}at /m);
    assert.throws(() => readdirSync(dataDirOf(home)), { code: 'ENOENT' });
  });

  test('the gateway does not start when the configuration file does not exist', async (t) => {
    const home = await temporaryHome(t);
    const { code, stderr } = await runToEnd(home, { GATEWAY_CONFIG_FILE: join(home.folder, 'missing.yml') });
    assert.equal(code, 78);
    assert.match(stderr, /missing\.yml/);
  });

  for (const [name, variable] of [
    ['HTTP', 'GATEWAY_HTTP_PORT'],
    ['MQTT', 'GATEWAY_MQTT_PORT'],
  ] as const)
    test(`the gateway does not start on a port of ${name} that is taken: it names the port, and leaves nothing running`, async (t) => {
      const home = await usedHome(t);
      const other = createServer();
      t.after(() => other.close());
      await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
      const { port } = other.address() as { port: number };
      const { code, stdout } = await runToEnd(home, { [variable]: String(port) });
      assert.equal(code, 1);
      const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '{}') as Record<string, unknown>;
      assert.equal(last['level'], 'fatal');
      assert.equal(last['message'], 'the gateway could not start');
      assert.match(JSON.stringify(last['error']), new RegExp(`address already in use.*:${port}`));
    });

  test('the gateway does not start on a state.db of a newer version, and leaves it as it is', async (t) => {
    const home = await usedHome(t);
    const path = join(dataDirOf(home), 'state.db');
    const handle = new BetterSqlite3(path);
    handle.pragma('user_version = 999');
    handle.close();
    const { code, stdout } = await runToEnd(home);
    assert.equal(code, 78);
    assert.match(stdout, /was written by a newer version \(schema 999, this program knows \d+\)/);
    const again = new BetterSqlite3(path, { readonly: true });
    assert.equal(again.pragma('user_version', { simple: true }), 999);
    again.close();
  });

  test('the gateway does not start on a damaged state.db without a copy: it names file and remedy, and begins no new state', async (t) => {
    const home = await usedHome(t);
    const path = join(dataDirOf(home), 'state.db');
    rmSync(join(dataDirOf(home), 'backups'), { recursive: true });
    const garbage = 'no database. '.repeat(1_000);
    writeFileSync(path, garbage);
    const { code, stdout } = await runToEnd(home);
    assert.equal(code, 78);
    assert.match(stdout, /state\.db is damaged \(file is not a database\)/);
    assert.match(stdout, /energy-gateway restore/);
    assert.equal(readFileSync(path, 'utf8'), garbage);
  });

  test('the gateway does not start when its data folder cannot be made', async (t) => {
    const home = await temporaryHome(t);
    writeFileSync(join(home.folder, 'file'), '');
    const { code, stdout } = await runToEnd(home, { GATEWAY_DATA_DIR: join(home.folder, 'file', 'data') });
    assert.equal(code, 78);
    assert.match(stdout, /The data folder .*data cannot be used by user \d+ \((ENOTDIR|EEXIST)/);
    assert.doesNotMatch(stdout, /"stack"/);
  });
});

/** Something else in the place of a file. */
const OBSTACLES: [kind: string, put: (path: string) => void][] = [
  ['named pipe', (path) => void execFileSync('mkfifo', [path])],
  ['device', (path) => symlinkSync('/dev/zero', path)],
  ['folder', (path) => mkdirSync(path)],
];
const putInPlace = (path: string, put: (path: string) => void): void => {
  rmSync(path, { force: true });
  put(path);
};

describe('something else in the place of a file', () => {
  for (const [kind, put] of OBSTACLES) {
    test(`something else in the place of a required file ends the start: ${kind}`, async (t) => {
      const home = await usedHome(t);
      for (const name of ['gateway.lock', 'state.db']) {
        const path = join(dataDirOf(home), name);
        const aside = `${path}.aside`;
        renameSync(path, aside);
        put(path);
        const { code, stdout } = await runToEnd(home);
        assert.deepEqual(
          [code, stdout.includes(`${path} is a ${kind} where a file is expected`)],
          [78, true],
        );
        rmSync(path, { recursive: true });
        renameSync(aside, path);
      }
      const file = join(home.folder, 'gateway.yml');
      put(file);
      const { code, stderr } = await runToEnd(home, { GATEWAY_CONFIG_FILE: file });
      assert.deepEqual([code, stderr.includes(`${file} is a ${kind} where a file is expected`)], [78, true]);
    });

    test(`something else in the place of any other file is named, and not waited for: ${kind}`, async (t) => {
      const home = await usedHome(t);
      const { folder } = home;
      const data = dataDirOf(home);
      const named = [
        'history.db',
        'proven-time.json',
        'tls/web.pem',
        'tls/devices.pem',
        'backups/authority.pem',
      ]
        .map((name) => join(data, name))
        .concat(join(data, 'state-recovery.json'));
      const unnamed = ['gateway.lock.holder', 'start.reserve', 'telemetry-journal/companion', 'claim-code'];
      const [siteFile, certificate] = [join(folder, 'site.yml'), join(folder, 'own.crt')];
      for (const path of [...named, ...unnamed.map((name) => join(data, name)), siteFile, certificate])
        putInPlace(path, put);
      const { gateway } = await startHealthy(t, home, {
        GATEWAY_PROVISION_FILE: siteFile,
        GATEWAY_TLS_CERTIFICATE: certificate,
        GATEWAY_TLS_PRIVATE_KEY: certificate,
      });
      // Made beside the work of a gateway that is ready.
      await until(() => readFileSync(home.logFile, 'utf8').includes('history.db is a'));
      assert.equal((await gateway.end('SIGTERM')).code, 0);
      const log = readFileSync(home.logFile, 'utf8');
      for (const path of [...named, certificate]) assert.ok(log.includes(`${path} is a ${kind}`), path);
    });
  }
});

test('the gateway starts with both databases damaged: state from its newest good copy, and control goes on', async (t) => {
  const home = await usedHome(t);
  const [copy = ''] = localCopies(join(dataDirOf(home), 'backups')).map((one) => one.path);
  for (const name of ['state.db', 'history.db']) overwrite(join(dataDirOf(home), name), 8_192, 40_960);
  const { call, gateway } = await startHealthy(t, home);
  assert.equal((await call('GET', '/v3/devices/battery')).status, 200);
  const made = await call('POST', '/v3/provisioning/standalone', { name: 'After' });
  assert.equal(made.status, 200);
  const note = JSON.parse(readFileSync(join(dataDirOf(home), 'state-recovery.json'), 'utf8')) as {
    copy: string;
  };
  assert.equal(note.copy, copy);
  assert.equal((await gateway.end('SIGTERM')).code, 0);
});

function overwrite(path: string, from: number, sizeBytes: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(sizeBytes, 0xa5), 0, sizeBytes, from);
  closeSync(file);
}
