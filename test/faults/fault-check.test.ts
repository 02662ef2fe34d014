/**
 * Faults of a box, on the real program: nothing acknowledged is lost, doubled or forgotten, and a protection that is
 * taken out is noticed. `npm run check -- faults` goes on for hours.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import type { Problem } from '../../scripts/checks/world/journal.ts';
import type { Plant } from '../../scripts/checks/faults/control.ts';
import { missingForDisks } from '../../scripts/checks/faults/disk.ts';
import { FAULT_KINDS } from '../../scripts/checks/faults/kinds.ts';
import { faultCheck, type FaultReport } from '../../scripts/checks/faults/run.ts';
import { createRandom } from '../../scripts/support/random.ts';
import { hasBundle } from '../../scripts/support/gateway-process.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';

const SEED = 20_261_121;
const missing = missingForDisks();
const withoutDisk = missing.length > 0 && `missing: ${missing.join(', ')}`;

async function check(
  t: TestContext,
  names: readonly string[],
  options: { faults: number; seed?: number; plants?: readonly Plant[] },
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
    plants: options.plants ?? [],
    clock,
    say: (text) => t.diagnostic(text),
    onFault: (report) => reports.push(report),
  });
  return { problems, reports };
}

/** One or two short kinds of each family; of the others one is drawn by chance, and all run with the program. */
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
const LONG = ['servers', 'kill-sealing', 'kill-roll-up', 'kill-retention', 'killed-child', 'kill-commanding'];
const OTHERS = 1;

test('nothing acknowledged is lost, doubled or forgotten by one fault of each family and another by chance', async (t) => {
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

/** Taken out on a box; each is found by a kind of fault, and by nothing that another one of them does. */
const PLANTS: { plants: Plant[]; found: [kind: string, sign: RegExp][]; skip: string | false }[] = [
  { plants: ['sync'], found: [['power-cut', /lost|wrong|stop/]], skip: withoutDisk },
  {
    plants: ['lock', 'byte-budget'],
    found: [
      ['second-start', /a second gateway on the folder/],
      ['large-messages', /its rate allows/],
    ],
    skip: false,
  },
  { plants: ['call-limit'], found: [['servers', /101.* did not end within/]], skip: false },
  {
    plants: ['request-feed'],
    found: [['pipelining', /before it answered another caller|MB more/]],
    skip: false,
  },
];

describe('a protection that is taken out is found', () => {
  for (const { plants, found, skip } of PLANTS)
    test(
      `taking out the ${plants.join(' and the ')} is found by ${found.map(([kind]) => kind).join(' and ')}`,
      { skip },
      async (t) => {
        const kinds = found.map(([kind]) => kind);
        const { problems } = await check(t, kinds, { faults: kinds.length, plants });
        const told = problems.map(({ kind, item }) => `${kind}: ${item}`);
        for (const [kind, sign] of found)
          assert.ok(
            told.some((line) => sign.test(line)),
            `${kind}: ${JSON.stringify(problems)}`,
          );
      },
    );
});
