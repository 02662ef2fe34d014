/** The power goes at a moment by chance while versions change; afterwards one of them serves, with its own state. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../support/random.ts';
import type { Board } from './board.ts';
import { BROKEN, FIRST, NEXT, packageOf } from './versions.ts';

const COPIES = '/var/lib/energy-gateway/backups';
const COPY = `"$(ls -t ${COPIES}/state-*.db | head -1)"`;
/** For a copy that a start makes. */
const COPY_ROUNDS = 300;
const ROUND_MS = 100;

interface Change {
  name: string;
  line: string;
  before?: (board: Board) => Promise<void>;
}

const CHANGES: readonly Change[] = [
  ...[FIRST, BROKEN, NEXT].map((version) => ({
    name: `install ${version}`,
    line: `dpkg -i ${packageOf(version)} </dev/null`,
  })),
  { name: 'return', line: 'energy-gateway-versions return --yes' },
  {
    name: 'restore',
    line: `energy-gateway restore ${COPY} && systemctl restart energy-gateway`,
    before: copyOfNow,
  },
];
/** So long a change takes here at most; a cut after its end is one of a running box. */
const LATEST_MS = 15_000;

/** @returns what was cut and what was there afterwards @throws Error when no version serves, or without its state */
export async function cutOnce(board: Board, random: Random): Promise<string> {
  const { name, line, before } = random.pick(CHANGES);
  await before?.(board);
  const afterMs = random.integer(0, LATEST_MS);
  const change = board.debian.begin(line);
  await pause(afterMs);
  await board.debian.cutPower();
  board.debian.kill(change);
  await board.debian.boot();
  const booted = await board.servingVersion();
  // What dpkg asks for after a cut; the package may have been half unpacked.
  board.debian.run(
    `dpkg --configure -a </dev/null && [ -z "$(dpkg --audit)" ] || dpkg -i ${packageOf(NEXT)} </dev/null`,
  );
  const version = await board.servingVersion();
  assert.ok([FIRST, NEXT].includes(version), `version ${version} serves`);
  // The state of the one who claimed it, whichever version's.
  board.get('/v3/site');
  assert.equal(board.debian.run('dpkg --audit').output, '');
  return `${name} after ${afterMs} ms: ${booted} at the boot, then ${version}`;
}

/** A copy that knows who claimed the gateway: a start without copies makes one. */
async function copyOfNow(board: Board): Promise<void> {
  const { debian } = board;
  debian.must(
    `systemctl stop energy-gateway && rm -f ${COPIES}/state-*.db && touch /tmp/before-the-start && systemctl start energy-gateway`,
  );
  await board.servingVersion();
  for (let round = 0; round < COPY_ROUNDS; round += 1) {
    if (debian.must(`find ${COPIES} -name 'state-*.db' -newer /tmp/before-the-start`) !== '') return;
    await pause(ROUND_MS);
  }
  throw new Error('a start makes no copy of state.db');
}
