/** Installing ends at a moment by chance, as when memory is short; the box goes on running, and it is done again. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../support/random.ts';
import type { Board } from './board.ts';
import { BROKEN, FIRST, NEXT, packageOf } from './versions.ts';

/** Unpacking and what the package does itself; the rest of an installation is waiting for the trial. */
const INSTALLING_MS = 4_000;
const REMOVING_MS = 700;

const CHANGES = [
  ...[FIRST, BROKEN, NEXT].map((version) => ({
    name: `install ${version}`,
    line: `dpkg -i ${packageOf(version)} </dev/null`,
    latestMs: INSTALLING_MS,
  })),
  ...[
    ['remove', 'dpkg -r energy-gateway'],
    ['purge', 'ENERGY_GATEWAY_PURGE_DATA=no dpkg -P energy-gateway'],
  ].map(([name, line]) => ({ name, line: `${line} </dev/null`, latestMs: REMOVING_MS })),
];
/** What dpkg asks for, and the package again where it is half unpacked or gone. */
const MEND = `
  dpkg --configure -a </dev/null
  [ "$(dpkg-query -W -f '\${db:Status-Status}' energy-gateway)" = installed ] || dpkg -i ${packageOf(NEXT)} </dev/null`;

/** @returns what was ended and what was there afterwards @throws Error when no version serves, or without its state */
export async function killOnce(board: Board, random: Random): Promise<string> {
  const { debian } = board;
  const { name, line, latestMs } = random.pick(CHANGES);
  const afterMs = random.integer(0, latestMs);
  const change = debian.begin(line);
  const isOver = once(change, 'exit');
  await pause(afterMs);
  const isCut = change.exitCode === null;
  debian.kill(change);
  await isOver;
  const left = debian.run("dpkg-query -W -f '${db:Status-Status}' energy-gateway").output.trim();
  const { output } = debian.run(MEND);
  const version = await board.servingVersion();
  assert.ok([FIRST, NEXT].includes(version), `version ${version} serves: ${output}`);
  // The state of the one who claimed it, whichever version's.
  board.get('/v3/site');
  assert.equal(debian.run('dpkg --audit').output, '', output);
  assert.equal(debian.run('dpkg --verify energy-gateway').output, '', output);
  return `${name} ${isCut ? `ended after ${afterMs} ms` : 'to its end'}: ${left}, then ${version}`;
}
