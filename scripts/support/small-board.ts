/**
 * A small board, simulated: what is measured gets 0.3 of a core and 512 MB, by a control group of Linux of either version
 * (cgroups(7)); the load around it runs free. Needs root, and says what the machine does not allow.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../src/lib/errors.ts';
import { UsageError } from './arguments.ts';

const ROOT = '/sys/fs/cgroup';
const PERIOD_US = 100_000;
const CORES = 0.3;
const MEMORY_BYTES = 512 * 1_048_576;

let groups: string[] = [];

/** From now on for all that `ontoBoard` gets; returns what is bounded. @throws UsageError where no control group can be made */
export function simulateBoard(): string {
  const name = `gateway-bench-${process.pid}`;
  const quota = String(CORES * PERIOD_US);
  process.once('exit', removeGroups);
  if (existsSync(join(ROOT, 'cgroup.controllers'))) {
    makeGroup(join(ROOT, name), { 'cpu.max': `${quota} ${PERIOD_US}`, 'memory.max': String(MEMORY_BYTES) });
    return `${CORES} of a core, ${MEMORY_BYTES / 1_048_576} MB`;
  }
  makeGroup(join(ROOT, 'cpu', name), { 'cpu.cfs_period_us': String(PERIOD_US), 'cpu.cfs_quota_us': quota });
  // A process in a group of its own stays in it, since its bound is not ours to leave.
  if (!/^\d+:memory:\/$/m.test(readFileSync('/proc/self/cgroup', 'utf8')))
    return `${CORES} of a core; memory is not bounded, because this process is in a group of its own already`;
  makeGroup(join(ROOT, 'memory', name), { 'memory.limit_in_bytes': String(MEMORY_BYTES) });
  return `${CORES} of a core, ${MEMORY_BYTES / 1_048_576} MB`;
}

/** Puts a process that was just started there, with all that it starts; nothing happens without a board. */
export function ontoBoard(pid: number | undefined): void {
  if (pid === undefined) return;
  for (const group of groups) writeFileSync(join(group, 'cgroup.procs'), String(pid));
}

function makeGroup(path: string, bounds: Readonly<Record<string, string>>): void {
  try {
    mkdirSync(path);
    groups.push(path);
    for (const [file, bound] of Object.entries(bounds)) writeFileSync(join(path, file), bound);
  } catch (error) {
    throw new UsageError(`a small board cannot be simulated here: ${messageOf(error)}`);
  }
}

/** What is still in them, this process too, goes back to where everybody is. */
function removeGroups(): void {
  for (const group of groups) {
    const pids = readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n');
    for (const pid of pids.filter((each) => each !== ''))
      writeFileSync(join(group, '..', 'cgroup.procs'), pid);
    rmdirSync(group);
  }
  groups = [];
}
