/** Files of a folder and the place where another run goes on: no row stands in two of them. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { FolderSink } from '../../../src/capabilities/targets/folder/folder-sink.ts';
import { NO_TOTALS } from '../../../src/capabilities/targets/model.ts';
import { Sender } from '../../../src/capabilities/targets/sender.ts';
import type { Cursor } from '../../../src/capabilities/targets/store.ts';
import type { ChangePosition, Changes } from '../../../src/capabilities/telemetry/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { DatedFiles } from '../../../src/platform/files/index.ts';
import { until } from '../../support/until.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

const DAY_S = 86_400;
const STEP = 10;
const START: Cursor = { position: { sequence: 0 }, records: {}, totals: NO_TOTALS };

/** In steps of ten: the last sample of one day, and nine of the next. */
function changesOf(days: number) {
  return async ({ after }: { after: ChangePosition | undefined }): Promise<Changes> => {
    const from = after?.sequence ?? 0;
    const to = Math.min(days * STEP, from + STEP);
    const indexes = Array.from({ length: to - from }, (_, index) => from + index);
    const times = indexes.map((index) => Math.floor((index + STEP - 1) / STEP) * DAY_S + (index % STEP));
    return {
      series:
        indexes.length === 0
          ? []
          : [
              {
                deviceId: 'a',
                attribute: 'power',
                type: 'float',
                times: Uint32Array.from(times),
                numbers: Float64Array.from(indexes),
                integers: undefined,
                texts: [],
              },
            ],
      position: { sequence: to },
      pendingSamples: days * STEP - to,
      pendingSinceS: undefined,
      lostSamples: 0,
      hasSkipped: false,
    };
  };
}

/** Empty for a file that was renamed meanwhile. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return '';
  }
}

function folderOf(t: TestContext) {
  const folder = join(temporaryFolder(t), 'stick');
  mkdirSync(folder);
  const dataDir = temporaryFolder(t);
  const clock = createSystemClock();
  t.after(() => clock.close());
  const { log } = recordingLog(clock);
  /** What is in state.db. */
  let saved = START;
  const senderOf = ({ pieceBytes = 1_000_000, bytesPerSecondMax = 1_000_000, days = 20 } = {}): Sender =>
    new Sender({
      record: {
        id: 'id',
        name: 'stick',
        kind: 'FOLDER',
        isEnabled: true,
        settings: { kind: 'FOLDER', path: folder, isMount: false, pieceMinutes: 60, isCompressed: false },
        secrets: {},
        selection: {
          devices: null,
          attributes: null,
          intervalS: 0,
          isOnChange: false,
          bytesPerSecondMax,
          processorPercentMax: 100,
          fromMs: 0,
        },
        createdAtMs: 0,
        updatedAtMs: 0,
      },
      cursor: saved,
      sink: new FolderSink({
        settings: { kind: 'FOLDER', path: folder, isMount: false, pieceMinutes: 60, isCompressed: false },
        pieces: new DatedFiles({ folder, dataDir, isMountExpected: false, label: 'box', extension: '.csv' }),
        monotonicMs: () => clock.monotonicMs(),
        pieceBytes,
        openFilesMax: 1_000,
      }),
      telemetry: { changes: changesOf(days) },
      records: { read: (cursor) => ({ records: [], cursor, lost: 0, pending: 0 }) },
      site: () => ({ name: 'My site' }),
      labelsOf: () => ({
        slug: 'meter',
        labels: { site: 'My site', device: 'meter', blueprint: 'M', profile: undefined },
      }),
      saveCursor: async (cursor) => {
        saved = structuredClone(cursor);
      },
      clock,
      log,
      limits: { ...LIMITS.targets, intervalMs: 5 },
    });
  const names = (end: string): string[] =>
    readdirSync(folder)
      .flatMap((day) => readdirSync(join(folder, day)).map((name) => join(folder, day, name)))
      .filter((name) => name.endsWith(end));
  const values = (end = '.csv'): number[] =>
    names(end)
      .flatMap((name) => textOf(name).trimEnd().split('\n').slice(1))
      .map((row) => Number(row.split(',').at(-1)));
  const save = (cursor: Cursor): void => {
    saved = structuredClone(cursor);
  };
  return { senderOf, names, values, save };
}

const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('a folder', () => {
  test('a folder holds each sample once when the gateway is killed before it has counted the named files', async (t) => {
    const { senderOf, names, values } = folderOf(t);
    // A file for each step: many in the time after which cursors are noted.
    const fallen = senderOf({ pieceBytes: 1 });
    fallen.start();
    await until(() => fallen.cursor.position.sequence === 200);
    await fallen.stop();
    assert.ok(names('.csv').length > 2);
    // Steps of another size than before, as the store has it by then.
    const next = senderOf();
    next.start();
    await until(() => values('.part').length > 0);
    await next.stop();
    assert.deepEqual(sorted(values()), upTo(200));
  });

  test('a folder holds each sample once when the target is closed while something waits', async (t) => {
    const { senderOf, values, save } = folderOf(t);
    // The rows of the first step and the first one of the second go at once, the others must wait.
    const slow = senderOf({ bytesPerSecondMax: 390, days: 2 });
    slow.start();
    // On a machine that stood still it may be all of them.
    await until(() => values('.part').length >= 11);
    await slow.stop();
    save(slow.resumption);
    const next = senderOf({ days: 2 });
    next.start();
    await until(() => new Set([...values('.part'), ...values()]).size === 20);
    await next.stop();
    assert.deepEqual(sorted(values()), upTo(20));
  });
});
