/** Documents as rows and files: what stays after a deletion, a power cut and a full site. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { Documents } from '../../../src/capabilities/documents/index.ts';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';
import { startDevices } from '../devices/support.ts';

const JPEG = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), Buffer.alloc(60, 7)]);
const DAY_S = 86_400;

function start(t: TestContext, limits: Partial<Limits['documents']> = {}) {
  const setup = startDevices(t);
  const dataDir = temporaryFolder(t);
  const { log, lines } = recordingLog(setup.clock);
  const open = (): Documents =>
    new Documents({
      database: setup.database,
      dataDir,
      clock: setup.clock,
      log,
      devices: setup.devices,
      limits: { ...LIMITS.documents, ...limits },
    });
  const files = (): string[] =>
    existsSync(join(dataDir, 'documents'))
      ? readdirSync(join(dataDir, 'documents'), { recursive: true, withFileTypes: true })
          .filter((one) => one.isFile())
          .map(({ name }) => name)
      : [];
  return { ...setup, dataDir, log, lines, open, documents: open(), files };
}

describe('a document is refused', () => {
  test('a document is refused when all documents together would exceed their bytes, and leaves no file', async (t) => {
    const { documents, add, files } = start(t, { totalBytes: 100 });
    const [one, other] = [add(), add()];
    await documents.add(one, 'a', JPEG);
    await assert.rejects(documents.add(other, 'b', JPEG), { message: /exceed 100 bytes/ });
    assert.equal(files().length, 1);
    documents.remove(documents.of(one)[0] ?? assert.fail());
    await documents.add(other, 'b', JPEG);
    assert.equal(files().length, 1);
  });

  test('a document is refused when others took the last place while it was written', async (t) => {
    const { documents, add, files } = start(t, { perDevice: 1 });
    const device = add();
    const ends = await Promise.allSettled(['a', 'b', 'c'].map((name) => documents.add(device, name, JPEG)));
    assert.deepEqual(ends.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected', 'rejected']);
    assert.equal(documents.of(device).length, 1);
    assert.equal(files().length, 1);
  });

  test('a document is refused when its device is deleted while it is written', async (t) => {
    const { documents, devices, add, files } = start(t);
    const device = add();
    const adding = documents.add(device, 'a', JPEG);
    devices.remove(device);
    await assert.rejects(adding, { message: /There is no device/ });
    assert.deepEqual(files(), []);
  });

  test('a document is refused when its file is gone: it stays in the list and can be deleted', async (t) => {
    const { documents, add, dataDir } = start(t);
    const device = add();
    const document = await documents.add(device, 'a', JPEG);
    rmSync(join(dataDir, 'documents', device.id, document.id));
    await assert.rejects(documents.content(document), { message: /file of the document "a" is gone/ });
    documents.remove(document);
    assert.deepEqual(documents.of(device), []);
  });
});

describe('documents', () => {
  test('documents are there after a restart, and go with their device', async (t) => {
    const { documents, devices, open, add, files } = start(t);
    const [device, other] = [add(), add()];
    await documents.add(device, 'a', JPEG);
    const kept = await documents.add(other, 'b', JPEG);
    const again = open();
    assert.deepEqual(again.of(device), documents.of(device));
    assert.deepEqual(await again.content(kept), JPEG);
    devices.remove(device);
    assert.deepEqual(files(), [kept.id]);
    assert.deepEqual(again.of(other), [kept]);
  });

  test('documents lose only files that nobody knows and that are older than a month', async (t) => {
    const { documents, open, add, dataDir, files, clock, lines } = start(t);
    const device = add();
    const { id } = await documents.add(device, 'a', JPEG);
    const folder = join(dataDir, 'documents', 'of-nobody');
    mkdirSync(folder);
    const nowS = clock.wallMs() / 1_000;
    for (const [name, ageDays] of [
      ['young', 29],
      ['old', 31],
    ] as const) {
      writeFileSync(join(folder, name), 'x');
      utimesSync(join(folder, name), nowS, nowS - ageDays * DAY_S);
    }
    utimesSync(join(dataDir, 'documents', device.id, id), nowS, nowS - 400 * DAY_S);
    open();
    assert.deepEqual(files().toSorted(), [id, 'young'].toSorted());
    assert.equal(
      lines.filter(({ message }) => message === 'files of documents that nobody knows were removed').length,
      1,
    );
    utimesSync(join(folder, 'young'), nowS, nowS - 31 * DAY_S);
    open();
    assert.equal(existsSync(folder), false);
  });
});
