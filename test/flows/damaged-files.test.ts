/** Every file of a data folder, as a kill leaves it, in six kinds of damage: the gateway starts, and control goes on. */
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { localCopies } from '../../src/platform/sqlite/index.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from '../support/workspace.ts';

const PAGE_BYTES = 4_096;
/** Written anew by each start, or named by their absence only. */
const OF_NO_WEIGHT = /^(gateway\.lock.*|start\.reserve|.*-shm)$/;

const DAMAGES: Record<string, (path: string) => void> = {
  'one flipped bit': (path) =>
    change(path, (bytes) => bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1)),
  'a page of garbage': (path) =>
    change(path, (bytes) => {
      const start = bytes.length > 2 * PAGE_BYTES ? PAGE_BYTES : 0;
      bytes.fill(0xa5, start, Math.min(bytes.length, start + PAGE_BYTES));
    }),
  'half of it': (path) => truncateSync(path, statSync(path).size >> 1),
  zeros: (path) => change(path, (bytes) => bytes.fill(0)),
  nothing: (path) => truncateSync(path, 0),
  'no file': (path) => rmSync(path),
};

function change(path: string, work: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  if (bytes.length > 0) work(bytes);
  writeFileSync(path, bytes);
}

const start = (t: { after: (end: () => unknown) => void }, dataDir: string) =>
  startTestGateway(t, { dataDir, tendsState: true, environment: { GATEWAY_HTTPS: 'true' } });

let filled: string;
const ends: (() => unknown)[] = [];
before(async () => {
  const scope = { after: (end: unknown) => void ends.push(end as () => unknown) };
  const living = temporaryFolder(scope);
  filled = temporaryFolder(scope);
  const gateway = await start(scope, living);
  const meter = await gateway.provision('Meter');
  await meter.connect();
  await meter.log('kept', { persist: true });
  await until(() => localCopies(join(living, 'backups')).length > 0);
  await gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'After' });
  cpSync(living, filled, { recursive: true, preserveTimestamps: true });
});
after(async () => {
  for (const end of ends.toReversed()) await end();
});

describe('a data folder after a kill', () => {
  for (const [title, damage] of Object.entries(DAMAGES))
    test(`the gateway starts with each of its files damaged: ${title}`, async (t) => {
      const files = readdirSync(filled, { recursive: true, encoding: 'utf8' }).filter(
        (name) => statSync(join(filled, name)).isFile() && !OF_NO_WEIGHT.test(name),
      );
      assert.ok(files.length >= 8, files.join());
      for (const name of files) {
        const dataDir = temporaryFolder(t);
        cpSync(filled, dataDir, { recursive: true, preserveTimestamps: true });
        damage(join(dataDir, name));
        const { call, stop } = await start(t, dataDir);
        assert.equal((await call('OWNER', 'GET', '/v3/site')).status, 200, name);
        assert.equal((await call('OWNER', 'GET', '/v3/devices/meter')).status, 200, name);
        if (['zeros', 'nothing', 'no file'].includes(title)) {
          if (name.endsWith('-wal')) assert.ok(existsSync(join(dataDir, 'changes-lost.json')), name);
          if (name === 'state.db') assert.ok(existsSync(join(dataDir, 'state-recovery.json')), name);
        }
        await stop();
      }
    });
});
