/** Starts on data that are damaged or strange; of the real program test/process and the fault check ask some of it. */
import assert from 'node:assert/strict';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { localCopies } from '../../src/platform/sqlite/index.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from '../support/workspace.ts';

/** As on a box: with keys and certificates, and with the copies of state that it makes. */
const startOn = (t: Pick<TestContext, 'after'>, dataDir: string) =>
  startTestGateway(t, {
    dataDir,
    tendsState: true,
    environment: { GATEWAY_HTTPS: 'true', GATEWAY_MQTTS: 'true' },
  });

let usedData: string;
const ends: (() => unknown)[] = [];
before(async () => {
  const test = { after: (end: unknown) => void ends.push(end as () => unknown) };
  usedData = temporaryFolder(test);
  const { ok, stop } = await startOn(test, usedData);
  await ok('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'Battery' });
  // Made beside the work of a gateway that is ready.
  await until(() => localCopies(join(usedData, 'backups')).length > 0);
  await stop();
});
after(async () => {
  for (const end of ends.toReversed()) await end();
});

/** The data of a gateway that was started once, got the device `battery` and was stopped. */
function usedFolder(t: TestContext): string {
  const folder = temporaryFolder(t);
  cpSync(usedData, folder, { recursive: true, preserveTimestamps: true });
  return folder;
}

describe('a gateway starts', () => {
  const damages: [title: string, damage: (path: string) => void][] = [
    ['holds something else', (path) => writeFileSync(path, 'no database. '.repeat(1_000))],
    ['has a damaged page of its schema', (path) => overwrite(path, 100, 3_000)],
    ['has damaged pages of its tables', (path) => overwrite(path, 8_192, 40_960)],
    ['is empty', (path) => writeFileSync(path, '')],
  ];
  for (const [title, damage] of damages)
    test(`a gateway starts when its history.db ${title}, keeps what it can, and control goes on`, async (t) => {
      const dataDir = usedFolder(t);
      const path = join(dataDir, 'history.db');
      damage(path);
      const { call, stop } = await startOn(t, dataDir);
      const device = await call('OWNER', 'GET', '/v3/devices/battery');
      assert.equal(device.status, 200);
      const made = await call('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'After' });
      assert.equal(made.status, 200);
      const logs = await call('OWNER', 'GET', '/v3/devices/battery/logs');
      assert.deepEqual(logs.body, { logs: [], total_count: 0 });
      await stop();
    });

  const losses: [title: string, lose: (path: string) => void][] = [
    ['holds something else', (path) => writeFileSync(path, 'no database. '.repeat(1_000))],
    ['has a damaged page of its schema', (path) => overwrite(path, 100, 3_000)],
    ['has damaged pages of its tables', (path) => overwrite(path, 8_192, 40_960)],
    ['is empty', (path) => writeFileSync(path, '')],
    ['is missing', (path) => rmSync(path)],
  ];
  for (const [title, lose] of losses)
    test(`a gateway starts when its state.db ${title}, from its newest good copy, and says so`, async (t) => {
      const dataDir = usedFolder(t);
      const path = join(dataDir, 'state.db');
      const [copy = ''] = localCopies(join(dataDir, 'backups')).map((one) => one.path);
      lose(path);
      const { call } = await startOn(t, dataDir);
      assert.equal((await call('OWNER', 'GET', '/v3/site')).status, 200);
      const note = JSON.parse(readFileSync(join(dataDir, 'state-recovery.json'), 'utf8')) as {
        copy: string;
        aside?: string;
      };
      assert.equal(note.copy, copy);
      if (title.includes('damage')) assert.ok(note.aside !== undefined && existsSync(note.aside));
    });

  test('a gateway starts when its certificate authority is damaged or missing, from its copy, and without TLS when that is damaged too', async (t) => {
    const dataDir = usedFolder(t);
    const path = join(dataDir, 'tls', 'authority.pem');
    const copy = join(dataDir, 'backups', 'authority.pem');
    const authority = readFileSync(path, 'utf8');
    for (const lose of [() => writeFileSync(path, 'damaged'), () => rmSync(path)]) {
      lose();
      const { call, stop } = await startOn(t, dataDir);
      assert.ok(authority.includes((await call('OWNER', 'GET', '/ca.pem')).body as string));
      await stop();
      assert.equal(readFileSync(path, 'utf8'), authority);
    }
    for (const one of [path, copy]) writeFileSync(one, 'damaged');
    const { call } = await startOn(t, dataDir);
    assert.equal((await call('OWNER', 'GET', '/v3/devices/battery')).status, 200);
    assert.equal((await call('OWNER', 'GET', '/ca.pem')).status, 422);
    assert.deepEqual(
      [path, copy].map((one) => readFileSync(one, 'utf8')),
      ['damaged', 'damaged'],
    );
  });

  test('a gateway starts when files are in the place of folders, and control works', async (t) => {
    const dataDir = temporaryFolder(t);
    for (const name of ['telemetry-journal', 'backups']) writeFileSync(join(dataDir, name), '');
    for (const name of ['proven-time.json', 'state-recovery.json', 'update/uploaded.deb'])
      mkdirSync(join(dataDir, name), { recursive: true });
    const { call, stop } = await startOn(t, dataDir);
    const made = await call('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'After' });
    assert.equal(made.status, 200);
    await stop();
  });

  test('a gateway starts when its folder holds unknown files', async (t) => {
    const dataDir = temporaryFolder(t);
    mkdirSync(join(dataDir, 'telemetry-journal', 'strange'), { recursive: true });
    writeFileSync(join(dataDir, 'notes.txt'), 'hello');
    const { call } = await startOn(t, dataDir);
    assert.equal((await call('OWNER', 'GET', '/v3/site')).status, 200);
    assert.equal(readFileSync(join(dataDir, 'notes.txt'), 'utf8'), 'hello');
  });
});

function overwrite(path: string, from: number, sizeBytes: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(sizeBytes, 0xa5), 0, sizeBytes, from);
  closeSync(file);
}
