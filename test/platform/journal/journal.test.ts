import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import {
  createJournal,
  type Journal,
  type JournalDamage,
  type JournalFiles,
  nodeFiles,
  readJournal,
} from '../../../src/platform/journal/index.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

const SEGMENT_BYTES = 4_096;

interface Opened {
  journal: Journal;
  synced: number[];
  write: (text: string) => Promise<void>;
}

async function open(folder: string, files?: JournalFiles, lastKnownSequence = 0): Promise<Opened> {
  const clock = new TestClock();
  const pending: string[] = [];
  const synced: number[] = [];
  const journal = await createJournal({
    folder,
    name: 'test',
    clock,
    log: recordingLog(clock).log,
    metrics: createMetrics(),
    limits: { commits: LIMITS.commits, journal: { segmentBytes: SEGMENT_BYTES, spareSegments: 1 } },
    lastKnownSequence,
    encode: () => (pending.length > 0 ? Buffer.from(pending.shift() ?? '') : undefined),
    synced: (sequence) => void synced.push(sequence),
    ...(files && { files }),
  });
  return {
    journal,
    synced,
    write: async (text) => {
      pending.push(text);
      const done = journal.request(text.length);
      await journal.flush();
      await done;
    },
  };
}

function read(folder: string, after = 0): { texts: string[]; damages: JournalDamage[] } {
  const damages: JournalDamage[] = [];
  const texts = [...readJournal(folder, after, (damage) => damages.push(damage))].map(
    ({ sequence, payload }) => `${sequence}:${payload.toString().slice(0, 8)}`,
  );
  return { texts, damages };
}

async function filled(t: TestContext, records: number): Promise<string> {
  const folder = temporaryFolder(t);
  const opened = await open(folder);
  for (let index = 1; index <= records; index++) await opened.write(`record${index} `.padEnd(900, '.'));
  await opened.journal.stop();
  return folder;
}

describe('a journal', () => {
  test('gives back every record in order, across segments and restarts', async (t) => {
    const folder = await filled(t, 10);
    assert.ok(readdirSync(folder).length >= 3);
    const again = await open(folder);
    assert.equal(again.journal.lastSequence, 10);
    await again.write('more');
    await again.journal.stop();
    const { texts, damages } = read(folder);
    assert.equal(texts.length, 11);
    assert.deepEqual(texts.slice(-2), ['10:record10', '11:more']);
    assert.deepEqual(damages, []);
    assert.deepEqual(read(folder, 10).texts, ['11:more']);
  });

  test('takes a record larger than a segment', async (t) => {
    const folder = temporaryFolder(t);
    const { write, journal } = await open(folder);
    await write('x'.repeat(3 * SEGMENT_BYTES));
    await write('after');
    await journal.stop();
    assert.deepEqual(read(folder).texts, ['1:xxxxxxxx', '2:after']);
  });

  test('recycles released segments and never reads their earlier life', async (t) => {
    const folder = temporaryFolder(t);
    const { write, journal } = await open(folder);
    for (let index = 1; index <= 40; index++) {
      await write(`record${index} `.padEnd(900, '.'));
      if (index % 4 === 0) await journal.release(index - 1);
    }
    assert.ok(readdirSync(folder).length <= 4, String(readdirSync(folder)));
    await journal.stop();
    assert.deepEqual(read(folder, 39).texts, ['40:record40']);
    assert.deepEqual(read(folder, 39).damages, []);
  });

  test('never gives a sequence twice, even when its folder was lost', async (t) => {
    const { write, journal, synced } = await open(temporaryFolder(t), undefined, 500);
    await write('a');
    assert.deepEqual(synced, [501]);
    await journal.stop();
  });

  test('a torn end is not read and no damage: it was never acknowledged', async (t) => {
    const folder = await filled(t, 2);
    const path = join(folder, '000001.journal');
    const bytes = readFileSync(path);
    bytes.fill(7, 24 + 916 + 500, 24 + 2 * 916);
    writeFileSync(path, bytes);
    assert.deepEqual(read(folder), { texts: ['1:record1 '], damages: [] });
    const again = await open(folder);
    assert.equal(again.journal.lastSequence, 1);
    await again.write('instead');
    await again.journal.stop();
    assert.deepEqual(read(folder).texts, ['1:record1 ', '2:instead']);
  });

  test('a damaged record costs that record, is reported and skipped', async (t) => {
    const folder = await filled(t, 4);
    const path = join(folder, '000001.journal');
    const bytes = readFileSync(path);
    bytes[24 + 916 + 500] = 0;
    writeFileSync(path, bytes);
    assert.deepEqual(read(folder), {
      texts: ['1:record1 ', '3:record3 ', '4:record4 '],
      damages: [{ segment: '000001.journal', sequence: 2 }],
    });
  });

  test('a segment cut short is reported where the next one shows that more was written', async (t) => {
    const folder = await filled(t, 6);
    const path = join(folder, '000001.journal');
    writeFileSync(path, readFileSync(path).subarray(0, 24 + 916));
    const { texts, damages } = read(folder);
    assert.deepEqual(texts, ['1:record1 ', '5:record5 ', '6:record6 ']);
    assert.deepEqual(damages, [{ segment: '000001.journal', sequence: 2 }]);
  });

  test('on a full disk it keeps the record, acknowledges nothing, and writes it when space returns', async (t) => {
    const folder = temporaryFolder(t);
    let isFull = false;
    const files: JournalFiles = {
      ...nodeFiles,
      open: async (path, truncate) => {
        const file = await nodeFiles.open(path, truncate);
        return {
          ...file,
          write: async (bytes, position) => {
            if (!isFull) return file.write(bytes, position);
            await file.write(bytes.subarray(0, bytes.length / 2), position);
            throw new Error('ENOSPC');
          },
        };
      },
    };
    const { write, journal } = await open(folder, files);
    await write('one');
    isFull = true;
    await assert.rejects(write('two'), /ENOSPC/);
    await assert.rejects(write('x'.repeat(SEGMENT_BYTES)), /ENOSPC/);
    assert.deepEqual(read(folder).texts, ['1:one']);
    isFull = false;
    await journal.flush();
    assert.deepEqual(read(folder).texts, ['1:one', '2:two', '3:xxxxxxxx']);
    await journal.stop();
  });
});
