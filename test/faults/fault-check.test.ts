/**
 * Faults of a box, on the real program: nothing acknowledged is lost, doubled or forgotten, and a protection that is
 * taken out is noticed. `npm run fault-check` goes on for hours.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import type { Problem } from '../../scripts/clients/journal.ts';
import type { Plant } from '../../scripts/faults/control.ts';
import { missingForDisks } from '../../scripts/faults/disk.ts';
import { FAULT_KINDS } from '../../scripts/faults/kinds.ts';
import { faultCheck, type FaultReport } from '../../scripts/faults/run.ts';
import { createRandom } from '../../scripts/support/random.ts';
import { hasBundle } from '../../scripts/support/gateway-process.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';

const SEED = 20_261_121;
const missing = missingForDisks();
const withoutDisk = missing.length > 0 && `missing: ${missing.join(', ')}`;

async function check(
  t: TestContext,
  names: readonly string[],
  options: { faults: number; seed?: number; plant?: Plant },
): Promise<{ problems: Problem[]; reports: FaultReport[] }> {
  const clock = createSystemClock();
  t.after(() => clock.close());
  const reports: FaultReport[] = [];
  const problems = await faultCheck({
    seed: options.seed ?? SEED,
    faults: options.faults,
    durationMs: Number.POSITIVE_INFINITY,
    kinds: FAULT_KINDS.filter(({ name }) => names.includes(name)),
    devices: 2,
    attributes: 6,
    program: hasBundle() ? 'bundle' : 'source',
    plant: options.plant,
    clock,
    say: (text) => t.diagnostic(text),
    onFault: (report) => reports.push(report),
  });
  return { problems, reports };
}

/** Of each family one or two that are short; of the others some come by chance, and all with the program. */
const FAMILIES = [
  'kill',
  'stop',
  'second-start',
  'power-cut',
  'full-disk',
  'failing-disk',
  'read-only-disk',
  'unreadable-folder',
  'damaged-history',
  'damaged-journal',
  'clock-ahead',
];
/** Take long, since they wait for something rare. */
const LONG = ['kill-sealing', 'kill-roll-up', 'kill-retention', 'killed-child', 'kill-commanding'];
const OTHERS = 2;

test('nothing acknowledged is lost, doubled or forgotten by one fault of each family and others by chance', async (t) => {
  const seed = randomInt(2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const random = createRandom(seed);
  const names = [...FAMILIES];
  while (names.length < FAMILIES.length + OTHERS) {
    const { name } = random.pick(FAULT_KINDS);
    if (![...names, ...LONG].includes(name)) names.push(name);
  }
  const { problems, reports } = await check(t, names, { faults: names.length, seed });
  assert.deepEqual(problems, [], `seed ${seed}`);
  const last = reports.at(-1);
  assert.ok(last && last.samples > 0 && last.executions > 0 && last.changes > 0, JSON.stringify(last));
});

describe('a protection that is taken out is found', () => {
  const plants: [Plant, kind: string, sign: RegExp, skip: string | false][] = [
    ['sync', 'power-cut', /lost|wrong|stop/, withoutDisk],
    ['lock', 'second-start', /a second gateway on the folder/, false],
    ['byte-budget', 'large-messages', /its rate allows/, false],
  ];
  for (const [plant, kind, sign, skip] of plants)
    test(`the ${plant}, by ${kind}`, { skip }, async (t) => {
      const { problems } = await check(t, [kind], { faults: 1, plant });
      assert.ok(
        problems.some((problem) => sign.test(`${problem.kind}: ${problem.item}`)),
        JSON.stringify(problems),
      );
    });
});
