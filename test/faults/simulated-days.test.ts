/** Days of the whole gateway on simulated time, with something happening every hour. `npm run check -- year` has years. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { SimulationClock } from '../../scripts/checks/year/clock.ts';
import { takeOverDisk } from '../../scripts/checks/year/disk.ts';
import { SimulatedHouse } from '../../scripts/checks/year/house.ts';
import { simulate } from '../../scripts/checks/year/run.ts';
import { createRandom } from '../../scripts/support/random.ts';

const SEED = 7;

test('a box runs through two days and loses nothing', async (t) => {
  const seed = randomInt(2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const { problems, counts } = await simulate({ seed, days: 2, say: (line) => t.diagnostic(line) });
  assert.deepEqual(problems, [], `seed ${seed}`);
  assert.ok(counts.samples > 0 && counts.commands > 0 && counts.changes > 0, JSON.stringify(counts));
});

test('telemetry is acknowledged again within 10 s of room on a disk that was full', async (t) => {
  const [clock, disk] = [new SimulationClock(Date.UTC(2026, 2, 1)), await takeOverDisk()];
  t.after(() => disk.restore());
  const house = await SimulatedHouse.open(clock, createRandom(SEED), disk);
  t.after(() => house.close());
  await house.live();
  const [device] = house.devices;
  assert.ok(device);
  const measured = async (): Promise<boolean> => {
    await clock.advance(1_000);
    return device.measure(Math.floor(clock.trueMs / 1_000), true);
  };
  assert.equal(await measured(), true);
  disk.isFull = true;
  await clock.advance(5_000);
  let isAcknowledged = false;
  const waiting = measured().then((taken) => (isAcknowledged = taken));
  await house.people.act();
  assert.deepEqual(house.people.refusals, []);
  assert.equal(isAcknowledged, false);
  disk.isFull = false;
  const roomAtMs = clock.monotonicMs();
  assert.equal(await waiting, true);
  assert.ok(clock.monotonicMs() - roomAtMs <= 10_000, `${clock.monotonicMs() - roomAtMs} ms`);
  assert.equal(await measured(), true);
});
