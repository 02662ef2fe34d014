import assert from 'node:assert/strict';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { LIMITS } from '../../../src/lib/limits.ts';
import {
  Journal,
  type JournalDamage,
  type JournalFiles,
  nodeFiles,
  readJournal,
} from '../../../src/telemetry-store/journal/index.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';
import { runs } from '../../support/runs.ts';

const SEGMENT_BYTES = 4_096;
const PAGE_BYTES = 4_096;

function pagesOf(position: number, sizeBytes: number): number {
  return Math.ceil((position + sizeBytes) / PAGE_BYTES) - Math.floor(position / PAGE_BYTES);
}

interface Opened {
  journal: Journal;
  synced: number[];
  write: (text: string) => Promise<void>;
}

async function open(
  folder: string,
  files?: JournalFiles,
  lastKnownSequence = 0,
  { segmentBytes = SEGMENT_BYTES, isTornEndDamage = false } = {},
): Promise<Opened> {
  const clock = new TestClock();
  const pending: string[] = [];
  const synced: number[] = [];
  const journal = await Journal.open({
    folder,
    name: 'test',
    clock,
    log: recordingLog(clock).log,
    metrics: createMetrics(),
    limits: {
      commits: LIMITS.commits,
      journal: { segmentBytes, spareSegments: 1, damagedSegments: 2 },
    },
    lastKnownSequence,
    isTornEndDamage,
    encode: () => (pending.length > 0 ? Buffer.from(pending.shift() ?? '') : undefined),
    synced: (sequence) => void synced.push(sequence),
    ...(files && { files }),
  });
  return {
    journal,
    synced,
    write: async (text) => {
      pending.push(text);
      const done = journal.commits.request(text.length);
      await journal.commits.flush();
      await done;
    },
  };
}

function read(
  folder: string,
  after = 0,
  isTornEndDamage = false,
): { texts: string[]; damages: JournalDamage[] } {
  const damages: JournalDamage[] = [];
  const texts = [...readJournal(folder, after, (damage) => damages.push(damage), { isTornEndDamage })].map(
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

/** Ways in which a stretch of the second segment, records 5 to 8, is lost; 8 stays. */
const DAMAGES: Record<string, (bytes: Buffer) => void> = {
  'a zeroed stretch': (bytes) => bytes.fill(0, 24 + 916 + 10, 24 + 2 * 916 + 50),
  'a record whose length is wrong': (bytes) => bytes.writeUInt32LE(17, 24 + 916),
  'a record whose length is beyond the file': (bytes) => bytes.writeUInt32LE(0x7fffffff, 24 + 916),
  'a lost header': (bytes) => bytes.fill(0, 0, 1_000),
  garbage: (bytes) => bytes.fill(0xa5, 500, 24 + 2 * 916 + 5),
};

describe('a journal', () => {
  test('a journal gives back every record in order, across segments and restarts', async (t) => {
    const folder = await filled(t, 10);
    assert.ok(readdirSync(folder).length >= 3);
    const again = await open(folder);
    assert.equal(again.journal.segments.lastSequence, 10);
    await again.write('more');
    await again.journal.stop();
    const { texts, damages } = read(folder);
    assert.equal(texts.length, 11);
    assert.deepEqual(texts.slice(-2), ['10:record10', '11:more']);
    assert.deepEqual(damages, []);
    assert.deepEqual(read(folder, 10).texts, ['11:more']);
  });

  test('a record touches no more pages than necessary, and is found behind the gap', async (t) => {
    const folder = temporaryFolder(t);
    const writes: { position: number; sizeBytes: number }[] = [];
    const files: JournalFiles = {
      ...nodeFiles,
      open: async (path, truncate) => {
        const file = await nodeFiles.open(path, truncate);
        const write = (bytes: Uint8Array, position: number): Promise<void> => {
          // A page at once: the zeros of a new segment.
          if (bytes.length !== PAGE_BYTES && !path.endsWith('newest.new'))
            writes.push({ position, sizeBytes: bytes.length });
          return file.write(bytes, position);
        };
        return { ...file, write };
      },
    };
    const sizes = [1_300, 1_300, 1_300, 1_300, 5_000, 900, 4_000, 10];
    for (let run = 1; run <= 4; run++) {
      const { journal, write } = await open(folder, files, 0, { segmentBytes: 8 * PAGE_BYTES });
      for (const size of sizes) await write(`run${run} `.padEnd(size, '.'));
      if (run === 2) await journal.segments.release(journal.segments.lastSequence - 1);
      await journal.stop();
    }
    assert.equal(writes.length, 4 * sizes.length);
    for (const { position, sizeBytes } of writes)
      assert.equal(
        pagesOf(position, sizeBytes),
        pagesOf(0, sizeBytes),
        `${sizeBytes} bytes at ${position} touch more pages than they must`,
      );
    const { texts, damages } = read(folder, 2 * sizes.length);
    assert.equal(texts.length, 2 * sizes.length);
    assert.equal(texts.at(-1), '32:run4 ...');
    assert.deepEqual(damages, []);
  });

  test('a journal takes a record larger than a segment', async (t) => {
    const folder = temporaryFolder(t);
    const { write, journal } = await open(folder);
    await write('x'.repeat(3 * SEGMENT_BYTES));
    await write('after');
    await journal.stop();
    assert.deepEqual(read(folder).texts, ['1:xxxxxxxx', '2:after']);
  });

  test('a journal recycles released segments and never reads their earlier content', async (t) => {
    const folder = temporaryFolder(t);
    const { write, journal } = await open(folder);
    for (let index = 1; index <= 40; index++) {
      await write(`record${index} `.padEnd(900, '.'));
      if (index % 4 === 0) await journal.segments.release(index - 1);
    }
    assert.ok(readdirSync(folder).length <= 4, String(readdirSync(folder)));
    await journal.stop();
    assert.deepEqual(read(folder, 39).texts, ['40:record40']);
    assert.deepEqual(read(folder, 39).damages, []);
  });

  test('a journal never uses a sequence twice, even when its folder was lost', async (t) => {
    const { write, journal, synced } = await open(temporaryFolder(t), undefined, 500);
    await write('a');
    assert.deepEqual(synced, [501]);
    await journal.stop();
  });

  test('a torn end is not read and is no damage: it was never acknowledged', async (t) => {
    const folder = await filled(t, 2);
    const path = join(folder, '000001.journal');
    const bytes = readFileSync(path);
    bytes.fill(7, 24 + 916 + 500, 24 + 2 * 916);
    writeFileSync(path, bytes);
    assert.deepEqual(read(folder), { texts: ['1:record1 '], damages: [] });
    const again = await open(folder);
    assert.equal(again.journal.segments.lastSequence, 1);
    await again.write('instead');
    await again.journal.stop();
    assert.deepEqual(read(folder).texts, ['1:record1 ', '2:instead']);
  });

  test('a damaged record loses that record only, is reported and skipped', async (t) => {
    const folder = await filled(t, 4);
    const path = join(folder, '000001.journal');
    const bytes = readFileSync(path);
    bytes[24 + 916 + 500] = 0;
    writeFileSync(path, bytes);
    assert.deepEqual(read(folder), {
      texts: ['1:record1 ', '3:record3 ', '4:record4 '],
      damages: [{ segment: '000001.journal', sequence: 2, recordCount: 1, bytes: 916 }],
    });
  });

  for (const [what, damage] of Object.entries(DAMAGES))
    test(`every intact record behind ${what} is found again, and nothing is written over it`, async (t) => {
      const folder = await filled(t, 10);
      const path = join(folder, '000002.journal');
      const bytes = readFileSync(path);
      damage(bytes);
      writeFileSync(path, bytes);
      const { texts, damages } = read(folder);
      // Records 5 to 8 stand in the second segment, 6 and 7 cross the damaged stretch or are in it.
      assert.deepEqual(
        texts.filter((text) => text.startsWith('8:') || text.startsWith('9:') || text.startsWith('10:')),
        ['8:record8 ', '9:record9 ', '10:record10'],
      );
      assert.equal(damages.length, 1);
      const missing = damages[0]?.recordCount ?? 0;
      assert.equal(texts.length, 10 - missing);
      const again = await open(folder);
      assert.deepEqual(again.journal.segments.damagedSegments(), ['000002.journal.damaged']);
      await again.write('more');
      await again.journal.segments.release(11);
      await again.journal.stop();
      assert.deepEqual(readFileSync(`${path}.damaged`), bytes);
      assert.equal(again.journal.segments.lastSequence, 11);
    });

  test('records behind a damaged part of the newest segment are found, and new ones go elsewhere', async (t) => {
    const folder = await filled(t, 4);
    const path = join(folder, '000001.journal');
    const bytes = readFileSync(path);
    bytes.fill(0, 24 + 916, 24 + 2 * 916 + 100);
    writeFileSync(path, bytes);
    assert.deepEqual(read(folder), {
      texts: ['1:record1 ', '4:record4 '],
      damages: [{ segment: '000001.journal', sequence: 2, recordCount: 2, bytes: 2 * 916 }],
    });
    const again = await open(folder);
    await again.write('five');
    await again.journal.stop();
    assert.deepEqual(read(folder).texts, ['1:record1 ', '4:record4 ', '5:five']);
    assert.deepEqual(readFileSync(`${path}.damaged`), bytes);
  });

  test('damage among records that are stored elsewhere is ignored', async (t) => {
    const folder = await filled(t, 4);
    const path = join(folder, '000001.journal');
    const bytes = readFileSync(path);
    bytes.fill(0, 24 + 100, 24 + 916 + 100);
    writeFileSync(path, bytes);
    assert.deepEqual(read(folder, 2), { texts: ['3:record3 ', '4:record4 '], damages: [] });
  });

  test('a file that holds no record at all is set aside, an unused one is not', async (t) => {
    const folder = await filled(t, 2);
    writeFileSync(join(folder, '000002.journal'), Buffer.alloc(SEGMENT_BYTES, 7));
    writeFileSync(join(folder, '000003.journal'), Buffer.alloc(SEGMENT_BYTES));
    mkdirSync(join(folder, '000004.journal'));
    assert.deepEqual(
      read(folder).damages.map(({ segment }) => segment),
      ['000002.journal', '000004.journal'],
    );
    const { journal } = await open(folder);
    assert.deepEqual(journal.segments.damagedSegments(), [
      '000002.journal.damaged',
      '000004.journal.damaged',
    ]);
    await journal.stop();
    assert.deepEqual(read(folder).damages, []);
  });

  test('damaged segments are bounded in number, even when nothing can be read of them', async (t) => {
    const folder = temporaryFolder(t);
    for (let number = 1; number <= 5; number++)
      writeFileSync(join(folder, `00000${number}.journal`), 'no journal. '.repeat(100));
    const { journal, write } = await open(folder);
    await write('one');
    assert.equal(journal.segments.damagedSegments().length, 5);
    await journal.segments.release(1);
    assert.deepEqual(journal.segments.damagedSegments(), [
      '000004.journal.damaged',
      '000005.journal.damaged',
    ]);
    await journal.stop();
  });

  test('a damaged byte, wherever it is, loses only the records it touches', async (t) => {
    const folder = await filled(t, 8);
    const path = join(folder, '000001.journal');
    const whole = readFileSync(path);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(3_600),
        fc.integer({ min: 1, max: 1_500 }),
        fc.nat(255),
        (from, length, byte) => {
          const bytes = Buffer.from(whole);
          bytes.fill(byte, from, Math.min(from + length, bytes.length));
          writeFileSync(path, bytes);
          const isTouched = (record: number): boolean =>
            from < 24 + record * 916 && from + length > 24 + (record - 1) * 916;
          const { texts } = read(folder);
          for (let record = 1; record <= 8; record++)
            if (record > 4 || !isTouched(record))
              assert.ok(texts.includes(`${record}:record${record} `), `record ${record} of ${texts.join()}`);
          return Promise.resolve();
        },
      ),
      { numRuns: runs(200) },
    );
    writeFileSync(path, whole);
  });

  test('a journal opens on a full disk, and leaves no part of a segment there', async (t) => {
    const folder = await filled(t, 3);
    const names = readdirSync(folder);
    const files: JournalFiles = {
      ...nodeFiles,
      makeFolder: () => Promise.reject(new Error('ENOSPC')),
      open: async (path, truncate) => {
        const file = await nodeFiles.open(path, truncate);
        return { ...file, write: () => Promise.reject(new Error('ENOSPC')) };
      },
    };
    const { journal, write } = await open(folder, files);
    assert.deepEqual(read(folder).texts.length, 3);
    await assert.rejects(write('x'.repeat(SEGMENT_BYTES)), /ENOSPC/);
    await journal.stop();
    assert.deepEqual(readdirSync(folder), names);
  });

  for (const [code, given] of [
    ['EIO', '/proc/self/mem'],
    // It may be written only, by whoever it is.
    ['EACCES', '/sys/bus/platform/drivers_probe'],
  ] as const)
    test(`a segment that is refused with ${code} stays as it is, and its numbers are not used again`, async (t) => {
      const folder = await filled(t, 10);
      const segment = join(folder, '000002.journal');
      renameSync(segment, `${segment}.away`);
      symlinkSync(given, segment);
      assert.throws(() => read(folder), { code });
      await assert.rejects(open(folder), { code });
      rmSync(segment);
      renameSync(`${segment}.away`, segment);
      const again = await open(folder);
      assert.equal(again.journal.segments.lastSequence, 10);
      await again.journal.stop();
      assert.deepEqual(read(folder).damages, []);
      assert.equal(read(folder).texts.length, 10);
    });

  test('a segment cut short is reported where the next one shows that more was written', async (t) => {
    const folder = await filled(t, 6);
    const path = join(folder, '000001.journal');
    writeFileSync(path, readFileSync(path).subarray(0, 24 + 916));
    const { texts, damages } = read(folder);
    assert.deepEqual(texts, ['1:record1 ', '5:record5 ', '6:record6 ']);
    assert.deepEqual(damages, [{ segment: '000001.journal', sequence: 2, recordCount: 3, bytes: 0 }]);
  });

  test('a journal on a full disk keeps the record, acknowledges nothing, and writes it when space returns', async (t) => {
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
    await journal.commits.flush();
    assert.deepEqual(read(folder).texts, ['1:one', '2:two', '3:xxxxxxxx']);
    await journal.stop();
  });
});

describe('the newest segment of a journal', () => {
  for (const [title, lose] of [
    ['emptied', (path: string) => writeFileSync(path, '')],
    ['full of zeros', (path: string) => writeFileSync(path, Buffer.alloc(SEGMENT_BYTES))],
    ['deleted', (path: string) => rmSync(path)],
  ] as const)
    test(`a loss is reported when it is ${title}`, async (t) => {
      const folder = temporaryFolder(t);
      const { journal, write } = await open(folder);
      for (let record = 1; record <= 5; record++) await write(`${record}`.padEnd(1_500, '.'));
      await journal.stop();
      assert.deepEqual(read(folder, 0).damages, []);
      const newest = readdirSync(folder)
        .filter((name) => name.endsWith('.journal'))
        .sort()
        .at(-1);
      lose(join(folder, newest ?? ''));
      const { damages } = read(folder, 0);
      assert.ok(damages.some(({ segment, sequence }) => segment === newest && sequence === 5));
    });

  for (const [title, sizeBytes] of [
    ['within a record', 24 + 916 + 500],
    ['between two records', 24 + 916],
  ] as const)
    test(`a loss is reported when it is cut short ${title}, and it is set aside`, async (t) => {
      const folder = await filled(t, 3);
      const path = join(folder, '000001.journal');
      truncateSync(path, sizeBytes);
      assert.deepEqual(read(folder), {
        texts: ['1:record1 '],
        damages: [
          {
            segment: '000001.journal',
            sequence: 2,
            recordCount: undefined,
            bytes: SEGMENT_BYTES - sizeBytes,
          },
        ],
      });
      const again = await open(folder);
      assert.deepEqual(again.journal.segments.damagedSegments(), ['000001.journal.damaged']);
      await again.write('more');
      await again.journal.stop();
      assert.deepEqual(read(folder), { texts: ['1:record1 ', '2:more'], damages: [] });
    });

  const spoiled: [what: string, spoil: (record: Buffer) => void][] = [
    ['its content', (record) => record.writeUInt8(record.readUInt8(500) ^ 1, 500)],
    ['its length', (record) => record.writeUInt8(record.readUInt8(3) ^ 0x40, 3)],
    ['its checksum', (record) => record.writeUInt8(record.readUInt8(4) ^ 1, 4)],
    ['its number', (record) => record.writeUInt8(record.readUInt8(9) ^ 1, 9)],
    ['its second half, which is gone', (record) => record.fill(0, 450)],
  ];
  for (const [what, spoil] of spoiled)
    test(`damage of its last record, in ${what}, is a loss after a kill and none after a power cut`, async (t) => {
      const folder = await filled(t, 2);
      const path = join(folder, '000001.journal');
      const bytes = readFileSync(path);
      spoil(bytes.subarray(24 + 916, 24 + 2 * 916));
      writeFileSync(path, bytes);
      assert.deepEqual(read(folder), { texts: ['1:record1 '], damages: [] });
      assert.deepEqual(read(folder, 0, true), {
        texts: ['1:record1 '],
        damages: [{ segment: '000001.journal', sequence: 2, recordCount: 1, bytes: 0 }],
      });
      const again = await open(folder, undefined, 0, { isTornEndDamage: true });
      assert.deepEqual(again.journal.segments.damagedSegments(), ['000001.journal.damaged']);
      await again.journal.stop();
      assert.deepEqual(read(folder, 0, true).damages, []);
    });
});
