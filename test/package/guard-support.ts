/** A box for the script that decides which version runs: real script, real programs, each of which can be the last. */
import { spawnSync } from 'node:child_process';
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const GUARD = join(PROJECT_ROOT, 'scripts/build-deb/gateway/guard');
/** Programs with which the script changes files. */
const CHANGING = ['mv', 'cp', 'rm', 'ln', 'mkdir', 'touch'];

/**
 * Functions of the shell that reads the script. Changes are counted, and done by the real programs; the one at which it
 * shall be cut does half of a copy, and kills the script and itself.
 */
const STAND_INS = `
change() {
  read -r cut_count <"$CUT_COUNT"
  cut_count=$((cut_count + 1))
  echo $cut_count >"$CUT_COUNT"
  [ $cut_count = "\${CUT_AT:-0}" ] || return 0
  if [ "$1" = cp ]; then
    eval "cut_from=\\\${$(($# - 1))} cut_to=\\\${$#}"
    [ -d "$cut_from" ] || head -c 3 "$cut_from" >"$cut_to/\${cut_from##*/}"
  fi
  kill -9 0
}
${CHANGING.map((name) => `${name}() { change ${name} "$@"; command ${name} "$@"; }`).join('\n')}
# The pauses between two starts are noted only.
sleep() {
  if [ "$1" = "\${GUARD_POLL_S-}" ]; then command sleep "$1"; else echo "$1" >>"$PAUSES"; fi
}
# The disk of the test machine is not asked to write everything out at each step.
sync() { :; }
systemctl() {
  echo "$@" >>"$SYSTEMCTL_LOG"
  [ "$1" != show ] || cat "$STATUS_TEXT"
}
. "$0"`;

/** Starts of one boot, whose disk with the versions is read-only; says after each which version runs. */
const ON_READ_ONLY_DISK = `
mount --bind "$GUARD_STATE" "$GUARD_STATE" && mount -o remount,bind,ro "$GUARD_STATE" || exit 99
for start in $STARTS; do
  setsid -w sh -c "$@" || exit
  current=$(readlink "$GUARD_STATE/current")
  echo "runs \${current##*/}"
done`;

export const STARTS_MAX = 5;

export class Box {
  readonly #folder: string;
  readonly #environment: Record<string, string>;

  constructor(t: TestContext) {
    this.#folder = temporaryFolder(t);
    const bin = join(this.#folder, 'bin');
    for (const name of ['bin', 'data', 'library/versions', 'state'])
      mkdirSync(join(this.#folder, name), { recursive: true });
    this.#environment = {
      PATH: `${bin}:/usr/bin:/bin`,
      GUARD_LIBRARY: join(this.#folder, 'library'),
      GUARD_STATE: join(this.#folder, 'state'),
      GUARD_UNITS: join(this.#folder, 'units'),
      GUARD_MEMORY: join(this.#folder, 'memory'),
      GUARD_FOR_ALL: '',
      GUARD_ROW: join(this.#folder, 'row'),
      PAUSES: join(this.#folder, 'pauses'),
      GATEWAY_DATA_DIR: join(this.#folder, 'data'),
      CUT_COUNT: join(this.#folder, 'count'),
      SYSTEMCTL_LOG: join(this.#folder, 'systemctl.log'),
      STATUS_TEXT: join(this.#folder, 'status-text'),
    };
    this.saysLast('API on port 8080, MQTT on port 1883');
  }

  /** Another one in the same state. */
  copy(t: TestContext): Box {
    const copy = new Box(t);
    cpSync(this.#folder, copy.#folder, { recursive: true, verbatimSymlinks: true });
    copy.run(this.runs);
    return copy;
  }

  version(name: string, historySchema = 1): void {
    const folder = join(this.#folder, 'library/versions', name, 'migrations/history');
    mkdirSync(folder, { recursive: true });
    for (let number = 1; number <= historySchema; number += 1)
      writeFileSync(join(folder, `000${number}_schema.sql`), '');
  }

  /** Runs the script; killed before its `cutAt`-th change. Resolves with the changes that were begun. */
  guard(
    words: string[],
    cutAt?: number,
    environment: Record<string, string> = {},
  ): { changes: number; status: number | null; output: string } {
    writeFileSync(this.#environment['CUT_COUNT'] ?? '', '0\n');
    const { status, stdout, stderr } = spawnSync('setsid', ['-w', 'sh', '-c', STAND_INS, GUARD, ...words], {
      encoding: 'utf8',
      env: { ...this.#environment, ...environment, ...(cutAt !== undefined && { CUT_AT: String(cutAt) }) },
    });
    const changes = Number(readFileSync(this.#environment['CUT_COUNT'] ?? '', 'utf8'));
    if (cutAt !== undefined && changes >= cutAt) this.boot();
    return { changes, status, output: stdout + stderr };
  }

  /** What a version leaves in the data folder. */
  store(version: string): void {
    this.write('state.db', `state of ${version}`);
    this.write('state.db-wal', `log of ${version}`);
    this.write('tls/authority.pem', `key of ${version}`);
    this.write('history.db', `history of ${version}`);
    if (version === 'B') this.write('only-in-b.json', 'B');
  }

  write(path: string, text: string): void {
    const file = join(this.#folder, 'data', path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
  }

  /** What lies in memory is gone. */
  boot(): void {
    for (const name of ['units', 'memory', 'row'])
      rmSync(join(this.#folder, name), { recursive: true, force: true });
    rmSync(this.#environment['SYSTEMCTL_LOG'] ?? '', { force: true });
  }

  /** The status that the service manager knows of the service. */
  saysLast(text: string): void {
    writeFileSync(this.#environment['STATUS_TEXT'] ?? '', `${text}\n`);
  }

  /** The version on trial ended, as the service manager says it. */
  ended(result: string, status: string): void {
    assert.equal(this.guard(['ended'], undefined, { SERVICE_RESULT: result, EXIT_STATUS: status }).status, 0);
  }

  /** Starts after one more unasked end; the seconds that it waits before, 0: none. @param restarts of the service manager */
  startsAfter(restarts: number, ...properties: string[]): number {
    const pauses = this.#environment['PAUSES'] ?? '';
    writeFileSync(pauses, '0\n');
    this.saysLast([`NRestarts=${restarts}`, ...properties].join('\n'));
    assert.equal(this.guard(['start']).status, 0);
    return Number(readFileSync(pauses, 'utf8').trim().split('\n').at(-1));
  }

  /** The last start was so long ago. */
  ranFor(durationS: number): void {
    const row = this.#environment['GUARD_ROW'] ?? '';
    const [count, lastS] = readFileSync(row, 'utf8').split(' ').map(Number);
    writeFileSync(row, `${count} ${(lastS ?? 0) - durationS}\n`);
  }

  /** Version, reason, status and words of the last failure; undefined: there is none. */
  get failure(): string | undefined {
    const file = join(this.#folder, 'state/failure');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().replace(/^\S+ /, '') : undefined;
  }

  /** Starts of one boot, on a disk with the versions that is read-only; resolves with what ran after each. */
  startsOnReadOnlyDisk(count: number, cutAt?: number): { changes: number; ran: string[] } {
    writeFileSync(this.#environment['CUT_COUNT'] ?? '', '0\n');
    const { stdout } = spawnSync(
      'unshare',
      ['--mount', 'sh', '-c', ON_READ_ONLY_DISK, 'sh', STAND_INS, GUARD, 'start'],
      {
        encoding: 'utf8',
        env: {
          ...this.#environment,
          STARTS: '+ '.repeat(count),
          ...(cutAt !== undefined && { CUT_AT: String(cutAt) }),
        },
      },
    );
    const changes = Number(readFileSync(this.#environment['CUT_COUNT'] ?? '', 'utf8'));
    this.boot();
    return { changes, ran: [...stdout.matchAll(/^runs (\S+)$/gm)].map(([, version = '']) => version) };
  }

  makeFolder(path: string): void {
    mkdirSync(join(this.#folder, 'data', path));
  }

  /** The version on trial has proved itself. */
  confirm(previous: string): void {
    rmSync(join(this.#folder, 'state/trial'));
    writeFileSync(join(this.#folder, 'state/previous'), `${previous}\n`);
  }

  read(path: string): string {
    return readFileSync(join(this.#folder, 'data', path), 'utf8');
  }

  has(path: string): boolean {
    return existsSync(join(this.#folder, 'data', path));
  }

  /** From now on nothing can be copied, and no folder made. */
  fillDisk(): void {
    this.#replace('cp', 'false');
    // It says nothing of those that are there already, and what lies in memory has room.
    const inMemory = 'case $path in */units/*) exec /bin/mkdir "$@" ;; esac';
    this.#replace('mkdir', `for path; do :; done; ${inMemory}; [ -d "$path" ]`);
  }

  /** Nor has the folder of versions room for a new file. */
  fillState(): void {
    this.fillDisk();
    this.blockNotes();
  }

  blockNotes(): void {
    for (const name of ['trial', 'outcome', 'failure', 'previous', 'ended'])
      mkdirSync(join(this.#folder, 'state', `${name}.new`));
  }

  /** What is there already cannot be written over either. */
  refuseWrites(): void {
    this.#replace('dd', 'false');
  }

  /** The folder of versions has become read-only, and the data is on another disk. */
  readOnlyState(): void {
    this.blockNotes();
    mkdirSync(join(this.#folder, 'state/lock'));
    for (const program of ['mv', 'rm', 'ln', 'dd'])
      this.#replace(
        program,
        `case "$*" in *${this.#folder}/state/*) false ;; *) exec /bin/${program} "$@" ;; esac`,
      );
  }

  /** From now on that version cannot be removed. */
  keepVersion(name: string): void {
    const folder = join(this.#folder, 'library/versions');
    this.#replace('mv', `case "$*" in *${folder}/${name}*) false ;; *) exec /bin/mv "$@" ;; esac`);
  }

  #replace(program: string, line: string): void {
    const text = `#!/bin/sh\n${line} || { echo "${program}: No space left on device" >&2; exit 1; }\n`;
    writeFileSync(join(this.#folder, 'bin', program), text, { mode: 0o755 });
  }

  /** Why a version failed cannot be stored. */
  blockFailure(): void {
    mkdirSync(join(this.#folder, 'state/failure.new'));
  }

  /** The version on trial is ready and stays so; with every look at it the wall clock has moved by so much. */
  watchReady(clockStepS: number): { status: number | null; output: string } {
    const ready = join(this.#folder, 'state/current/scripts/energy-gateway');
    mkdirSync(join(ready, '..'), { recursive: true });
    writeFileSync(ready, '#!/bin/sh\n', { mode: 0o755 });
    const clock = join(this.#folder, 'clock');
    writeFileSync(clock, '1800000000\n');
    writeFileSync(
      join(this.#folder, 'bin/date'),
      `#!/bin/sh\n[ "$1" = +%s ] || exec /bin/date "$@"\nread -r now <${clock}\n` +
        `echo $((now + ${clockStepS})) | tee ${clock}\n`,
      { mode: 0o755 },
    );
    this.saysLast('ActiveState=active\nNRestarts=0');
    return this.guard(['watch'], undefined, { GUARD_CALM_S: '1', GUARD_POLL_S: '0.1', GUARD_TRIAL_S: '20' });
  }

  blockUnits(): void {
    writeFileSync(join(this.#folder, 'units'), '');
  }

  get runs(): string {
    return basename(readlinkSync(join(this.#folder, 'state/current')));
  }

  get trial(): string | undefined {
    const file = join(this.#folder, 'state/trial');
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  }

  get versions(): string[] {
    return readdirSync(join(this.#folder, 'library/versions')).sort();
  }

  setTrial(line: string): void {
    writeFileSync(join(this.#folder, 'state/trial'), `${line}\n`);
  }

  /** Leaves only the name of the note. */
  cutTrial(): void {
    writeFileSync(join(this.#folder, 'state/trial'), '');
  }

  run(version: string): void {
    const link = join(this.#folder, 'state/current');
    rmSync(link, { force: true });
    symlinkSync(join(this.#folder, 'library/versions', version), link);
  }
}

/** Version A runs and has stored; B is installed and announced. */
export function announced(t: TestContext, historySchemaOfB = 1): Box {
  const box = new Box(t);
  box.version('A', 1);
  assert.equal(box.guard(['begin', 'A']).status, 0);
  box.store('A');
  box.version('B', historySchemaOfB);
  assert.equal(box.guard(['begin', 'B']).status, 0);
  return box;
}
