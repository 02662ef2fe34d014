/** The power goes at a moment by chance while versions change; afterwards one of them serves, with its own state. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../support/random.ts';
import type { Board } from './board.ts';
import { BROKEN, FIRST, NEXT, packageOf } from './versions.ts';

const COPY = '"$(ls -t /var/lib/energy-gateway/backups/state-*.db | head -1)"';
const CHANGES: readonly (readonly [name: string, line: string])[] = [
  [`install ${FIRST}`, `dpkg -i ${packageOf(FIRST)} </dev/null`],
  [`install ${BROKEN}`, `dpkg -i ${packageOf(BROKEN)} </dev/null`],
  [`install ${NEXT}`, `dpkg -i ${packageOf(NEXT)} </dev/null`],
  ['return', 'energy-gateway-versions return --yes'],
  ['restore', `energy-gateway restore ${COPY} && systemctl restart energy-gateway`],
];
/** So long a change takes here at most; a cut after its end is one of a running box. */
const LATEST_MS = 15_000;

/** @returns what was cut and what was there afterwards @throws Error when no version serves, or without its state */
export async function cutOnce(board: Board, random: Random): Promise<string> {
  const [name, line] = random.pick(CHANGES);
  const afterMs = random.integer(0, LATEST_MS);
  const change = board.debian.begin(line);
  await pause(afterMs);
  await board.debian.cutPower();
  change.kill('SIGKILL');
  await board.debian.boot();
  const booted = await board.servingVersion();
  // What dpkg asks for after a cut; the package may have been half unpacked.
  board.debian.run(`dpkg --configure -a </dev/null || dpkg -i ${packageOf(NEXT)} </dev/null`);
  const version = await board.servingVersion();
  assert.ok([FIRST, NEXT].includes(version), `version ${version} serves`);
  // The state of the one who claimed it, whichever version's.
  board.get('/v3/site');
  assert.equal(board.debian.run('dpkg --audit').output, '');
  return `${name} after ${afterMs} ms: ${booted} at the boot, then ${version}`;
}
