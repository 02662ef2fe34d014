/** CSV files by day: whole from the moment they have their names, each sample in one of them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { FolderSink } from '../../../src/capabilities/targets/folder/folder-sink.ts';
import { type LabelledSamples, TargetFailure } from '../../../src/capabilities/targets/model.ts';
import { DatedFiles } from '../../../src/platform/files/index.ts';
import { temporaryFolder } from '../../support/workspace.ts';

const DAY_S = 86_400;
const HEAD = 'timestamp,device,attribute,value';
const MINUTE_MS = 60_000;

function samplesOf(times: number[], more: Partial<LabelledSamples> = {}): LabelledSamples {
  return {
    deviceId: 'id',
    attribute: 'power',
    type: 'float',
    times: Uint32Array.from(times),
    numbers: Float64Array.from(times, (atS) => atS / 2),
    integers: undefined,
    texts: [],
    labels: { site: 'My site', device: 'meter', blueprint: 'Meter', profile: undefined },
    ...more,
  };
}

const row = (atS: number): string =>
  `${new Date(atS * 1_000).toISOString().replace('.000', '')},meter,power,${atS / 2}`;
const noPace = async (): Promise<void> => undefined;

function folderOf(t: TestContext) {
  const root = temporaryFolder(t);
  const folder = join(root, 'stick');
  mkdirSync(folder);
  const dataDir = temporaryFolder(t);
  let nowMs = 0;
  const sink = (isCompressed = false, isMount = false): FolderSink =>
    new FolderSink({
      settings: { kind: 'FOLDER', path: folder, isMount, pieceMinutes: 1, isCompressed },
      pieces: new DatedFiles({
        folder,
        dataDir,
        isMountExpected: isMount,
        label: 'box',
        extension: isCompressed ? '.csv.gz' : '.csv',
      }),
      monotonicMs: () => nowMs,
      pieceBytes: 10_000,
      openFilesMax: 4,
    });
  const names = (): string[] =>
    readdirSync(folder)
      .flatMap((day) => readdirSync(join(folder, day)).map((name) => `${day}/${name}`))
      .toSorted();
  const rows = (): string[] =>
    names()
      .filter((name) => !name.endsWith('.part'))
      .flatMap((name) => {
        const bytes = readFileSync(join(folder, name));
        const lines = String(name.endsWith('.gz') ? gunzipSync(bytes) : bytes)
          .trimEnd()
          .split('\n');
        assert.equal(lines[0], HEAD);
        return lines.slice(1);
      });
  return { folder, sink, names, rows, wait: (ms: number) => (nowMs += ms) };
}

type Sending = [sink: FolderSink, times: number[]];
const send = ([sink, times]: Sending) => sink.send([samplesOf(times)], noPace);

describe('a folder that others can write', () => {
  const place = { position: { sequence: 1 }, records: {} };

  test('a folder that others can write gets a file in place of a link, and the file behind the link stays', async (t) => {
    const { folder, sink, rows } = folderOf(t);
    const precious = join(temporaryFolder(t), 'precious');
    writeFileSync(precious, 'keep me');
    mkdirSync(join(folder, '1970-01-01'));
    const pieces = sink();
    await pieces.begin(place);
    symlinkSync(precious, join(folder, '1970-01-01', 'telemetry-box.part'));
    await send([pieces, [1]]);
    await pieces.keep(true);
    assert.deepEqual(rows(), [row(1)]);
    assert.equal(readFileSync(precious, 'utf8'), 'keep me');
  });

  const swaps: [what: string, swap: (precious: string, part: string) => void][] = [
    ['a link', (precious, part) => symlinkSync(precious, part)],
    ['another name of a file', (precious, part) => linkSync(precious, part)],
    ['a pipe', (_precious, part) => void execFileSync('mkfifo', [part])],
    ['a folder', (_precious, part) => mkdirSync(part)],
    ['a device', (_precious, part) => symlinkSync('/dev/full', part)],
  ];
  for (const [what, swap] of swaps)
    test(`a folder that others can write takes nothing more into a file that became ${what}`, async (t) => {
      const { folder, sink } = folderOf(t);
      // On the same file system, since a file has its names on one.
      const precious = join(folder, 'precious');
      writeFileSync(precious, 'keep me');
      const pieces = sink();
      await pieces.begin(place);
      await send([pieces, [1]]);
      const part = join(folder, '1970-01-01', 'telemetry-box.part');
      rmSync(part);
      swap(precious, part);
      await assert.rejects(send([pieces, [2]]), TargetFailure);
      assert.equal(readFileSync(precious, 'utf8'), 'keep me');
    });

  test('a folder that others can write takes nothing into a day that is a link to another folder', async (t) => {
    const { folder, sink } = folderOf(t);
    const elsewhere = temporaryFolder(t);
    symlinkSync(elsewhere, join(folder, '1970-01-01'));
    const pieces = sink();
    await pieces.begin(place);
    await assert.rejects(send([pieces, [1]]), /is a link, which is not followed/);
    assert.deepEqual(readdirSync(elsewhere), []);
  });
});

describe('a folder of CSV files', () => {
  test('a folder target reports a missing folder or stick, and writes nothing', async (t) => {
    const { folder, sink } = folderOf(t);
    await assert.rejects(
      sink(false, true).begin({ position: { sequence: 1 }, records: {} }),
      new TargetFailure(`Nothing is mounted at ${folder}: the stick or drive that was there is missing.`),
    );
    rmSync(folder, { recursive: true });
    await assert.rejects(sink().test(), new TargetFailure(`There is no folder ${folder}.`));
    // As one that only its own user may look at.
    symlinkSync(folder, folder);
    await assert.rejects(sink().test(), (error) => {
      assert.ok(error instanceof TargetFailure);
      assert.match(error.message, /stick cannot be used: ELOOP/);
      return true;
    });
  });

  test('a folder of CSV files has files of each day once their time is over, late samples in files of their own day', async (t) => {
    const { names, rows, sink, wait } = folderOf(t);
    const target = sink();
    await target.begin({ position: { sequence: 7 }, records: {} });
    const sent = await send([target, [DAY_S, DAY_S + 1, 5]]);
    assert.deepEqual([sent.samples, await target.keep(false)], [3, false]);
    assert.deepEqual(names(), ['1970-01-01/telemetry-box.part', '1970-01-02/telemetry-box.part']);
    wait(MINUTE_MS);
    assert.equal(await target.keep(false), true);
    assert.deepEqual(names(), [
      '1970-01-01/telemetry-000000000007-box.csv',
      '1970-01-02/telemetry-000000000007-box.csv',
    ]);
    assert.deepEqual(rows(), [row(5), row(DAY_S), row(DAY_S + 1)]);
  });

  test('a folder of CSV files is given its files early when they are large or many, and at the end', async (t) => {
    const { sink } = folderOf(t);
    const target = sink();
    await target.begin({ position: { sequence: 1 }, records: {} });
    await send([target, Array.from({ length: 1_000 }, (_, index) => index)]);
    assert.equal(await target.keep(false), true);
    await target.begin({ position: { sequence: 2 }, records: {} });
    await send([target, [1, DAY_S, 2 * DAY_S, 3 * DAY_S]]);
    assert.equal(await target.keep(false), true);
    await target.begin({ position: { sequence: 3 }, records: {} });
    await send([target, [1]]);
    assert.equal(await target.keep(true), true);
  });

  test('a folder of CSV files holds each sample once after a power cut, also in the midst of naming', async (t) => {
    const { folder, names, rows, sink } = folderOf(t);
    const first = sink();
    await first.begin({
      position: { sequence: 1, within: { upTo: 9, seriesId: 3, fromS: 4, isWhole: false } },
      records: {},
    });
    await send([first, [1, 2]]);
    await first.keep(true);
    const cut = sink();
    await cut.begin({ position: { sequence: 2 }, records: {} });
    await send([cut, [3, DAY_S]]);
    const kept = '1970-01-02/telemetry-000000000002-box.csv';
    writeFileSync(join(folder, kept), `${HEAD}\n${row(DAY_S)}\n`);
    const again = sink();
    await again.begin({ position: { sequence: 2 }, records: {} });
    assert.equal(existsSync(join(folder, kept)), false);
    await send([again, [3]]);
    await again.keep(true);
    await again.begin({ position: { sequence: 3 }, records: {} });
    await send([again, [DAY_S]]);
    await again.keep(true);
    assert.deepEqual(rows().toSorted(), [row(1), row(2), row(3), row(DAY_S)].toSorted());
    assert.ok(names().includes('1970-01-01/telemetry-000000000001-9-3-4-box.csv'));
  });

  test('a folder of CSV files does not go on in the middle of a file that vanished with its stick', async (t) => {
    const { folder, sink } = folderOf(t);
    const target = sink();
    await target.begin({ position: { sequence: 1 }, records: {} });
    await send([target, [1]]);
    rmSync(join(folder, '1970-01-01'), { recursive: true });
    await assert.rejects(send([target, [2]]), TargetFailure);
  });

  test('a folder of CSV files quotes what needs it, and may be compressed', async (t) => {
    const { rows, sink } = folderOf(t);
    const target = sink(true);
    await target.begin({ position: { sequence: 1 }, records: {} });
    const texts = samplesOf([1], {
      type: 'string',
      attribute: 'mode',
      numbers: Float64Array.of(0),
      texts: ['say "on", now'],
    });
    await target.send([texts], noPace);
    await send([target, [2]]);
    await target.keep(true);
    assert.deepEqual(rows(), ['1970-01-01T00:00:01Z,meter,mode,"say ""on"", now"', row(2)]);
  });
});
