import assert from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { StoreActivityWatch } from '../../../../scripts/checks/world/store-activity.ts';
import { temporaryFolder } from '../../../support/workspace.ts';

const line = (message: string, activity: string): string =>
  `${JSON.stringify({ level: 'debug', activity, message })}\n`;
const begins = (activity: string): string => line('telemetry store begins its work', activity);
const ends = (activity: string): string => line('telemetry store has finished its work', activity);

describe('what the store of a gateway is at', () => {
  it('the activity of a store is empty for an earlier process, and at first', (t) => {
    const path = join(temporaryFolder(t), 'log');
    writeFileSync(path, begins('sealing'));
    assert.equal(new StoreActivityWatch(path).present(), undefined);
  });

  it('the activity of a store is what it began last and has not ended', (t) => {
    const path = join(temporaryFolder(t), 'log');
    writeFileSync(path, '');
    const watch = new StoreActivityWatch(path);
    const steps: [string, string | undefined][] = [
      [begins('sealing'), 'sealing'],
      [line('something else', 'retention'), 'sealing'],
      [begins('roll-up') + begins('retention').slice(0, 20), 'roll-up'],
      [begins('retention').slice(20), 'retention'],
      [ends('retention'), undefined],
    ];
    for (const [written, expected] of steps) {
      appendFileSync(path, written);
      assert.equal(watch.present(), expected);
    }
  });
});
