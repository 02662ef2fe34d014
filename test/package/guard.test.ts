/**
 * The script that decides which version runs, cut off at each of its steps. The real script with the real programs of the
 * system; before each one that changes something it can be killed, with everything it has started.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
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
import { describe, test, type TestContext } from 'node:test';
import { createRandom } from '../../scripts/support/random.ts';
import { runs } from '../support/runs.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const GUARD = join(PROJECT_ROOT, 'scripts/build-deb/gateway/guard');
const STARTS_MAX = 5;
/** Some thousand programs are started. */
const HANGS_MS = 900_000;
/** Programs with which the script changes files, and where they are. */
const CHANGING = ['mv', 'cp', 'rm', 'ln', 'mkdir', 'touch'].map(
  (name) => [name, execFileSync('which', [name], { encoding: 'utf8' }).trim()] as const,
);

/** Counts the calls; at the one that shall be cut it does half of a copy, and kills the script and itself. */
const COUNTED = (real: string): string => `#!/bin/sh
read -r count <"$CUT_COUNT"
count=$((count + 1))
echo $count >"$CUT_COUNT"
if [ $count = "\${CUT_AT:-0}" ]; then
  case $0 in */cp) eval "from=\\\${$(($# - 1))} to=\\\${$#}"; [ -d "$from" ] || head -c 3 "$from" >"$to/\${from##*/}" ;; esac
  kill -9 0
fi
exec ${real} "$@"
`;

class Box {
  readonly #folder: string;
  readonly #environment: Record<string, string>;

  constructor(t: TestContext) {
    this.#folder = temporaryFolder(t);
    const bin = join(this.#folder, 'bin');
    for (const name of ['bin', 'data', 'library/versions', 'state'])
      mkdirSync(join(this.#folder, name), { recursive: true });
    for (const [name, real] of CHANGING) writeFileSync(join(bin, name), COUNTED(real), { mode: 0o755 });
    // The disk of the test machine is not asked to write everything out at each step.
    writeFileSync(join(bin, 'sync'), '#!/bin/sh\n', { mode: 0o755 });
    writeFileSync(join(bin, 'systemctl'), '#!/bin/sh\necho "$@" >>"$SYSTEMCTL_LOG"\n', { mode: 0o755 });
    this.#environment = {
      PATH: `${bin}:/usr/bin:/bin`,
      GUARD_LIBRARY: join(this.#folder, 'library'),
      GUARD_STATE: join(this.#folder, 'state'),
      GATEWAY_DATA_DIR: join(this.#folder, 'data'),
      CUT_COUNT: join(this.#folder, 'count'),
      SYSTEMCTL_LOG: join(this.#folder, 'systemctl.log'),
    };
  }

  version(name: string, historySchema = 1): void {
    const folder = join(this.#folder, 'library/versions', name, 'migrations/history');
    mkdirSync(folder, { recursive: true });
    for (let number = 1; number <= historySchema; number += 1)
      writeFileSync(join(folder, `000${number}_schema.sql`), '');
  }

  /** Runs the script; killed before its `cutAt`-th change. Resolves with the changes that were begun. */
  guard(words: string[], cutAt?: number): { changes: number; status: number | null; output: string } {
    writeFileSync(this.#environment['CUT_COUNT'] ?? '', '0\n');
    const { status, stdout, stderr } = spawnSync('setsid', ['-w', 'sh', GUARD, ...words], {
      encoding: 'utf8',
      env: { ...this.#environment, ...(cutAt !== undefined && { CUT_AT: String(cutAt) }) },
    });
    const changes = Number(readFileSync(this.#environment['CUT_COUNT'] ?? '', 'utf8'));
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

  /** Nothing more can be copied. */
  fillDisk(): void {
    writeFileSync(
      join(this.#folder, 'bin/cp'),
      '#!/bin/sh\necho "cp: No space left on device" >&2\nexit 1\n',
      { mode: 0o755 },
    );
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

  run(version: string): void {
    const link = join(this.#folder, 'state/current');
    rmSync(link, { force: true });
    symlinkSync(join(this.#folder, 'library/versions', version), link);
  }
}

/** Version A runs and has stored; B is installed and announced. */
function announced(t: TestContext, historySchemaOfB = 1): Box {
  const box = new Box(t);
  box.version('A');
  assert.equal(box.guard(['begin', 'A']).status, 0);
  box.store('A');
  box.version('B', historySchemaOfB);
  assert.equal(box.guard(['begin', 'B']).status, 0);
  return box;
}

/** B has run, changed everything, and ended as often as it may. */
function failed(t: TestContext, historySchemaOfB = 1): Box {
  const box = announced(t, historySchemaOfB);
  assert.equal(box.guard(['start']).status, 0);
  box.store('B');
  box.setTrial(`trying B A ${STARTS_MAX}`);
  return box;
}

function assertIsBack(box: Box): void {
  assert.equal(box.runs, 'A');
  assert.equal(box.trial, undefined);
  assert.deepEqual(
    [box.read('state.db'), box.read('state.db-wal'), box.read('tls/authority.pem')],
    ['state of A', 'log of A', 'key of A'],
  );
  assert.equal(box.has('only-in-b.json'), false);
  assert.deepEqual(
    [box.read('failed-upgrade/state.db'), box.read('failed-upgrade/only-in-b.json')],
    ['state of B', 'B'],
  );
}

describe('a version that is installed', () => {
  test('runs at once when there is none before it', (t) => {
    const box = new Box(t);
    box.version('A');
    box.guard(['begin', 'A']);
    assert.deepEqual([box.runs, box.trial], ['A', undefined]);
  });

  test('does not run before the state is copied, and its copy is whole', (t) => {
    const box = announced(t);
    assert.deepEqual([box.runs, box.trial], ['A', 'announced B A 0']);
    box.guard(['start']);
    assert.deepEqual([box.runs, box.trial], ['B', 'trying B A 1']);
    assert.equal(box.read('before-upgrade/state.db'), 'state of A');
    assert.equal(box.read('before-upgrade/tls/authority.pem'), 'key of A');
    assert.equal(box.has('before-upgrade/history.db'), false);
  });

  test('is not started when the state cannot be copied', (t) => {
    const box = announced(t);
    box.fillDisk();
    assert.match(box.guard(['start']).output, /Version B was not started.*free room.*A runs/);
    assert.deepEqual([box.runs, box.trial], ['A', undefined]);
    assert.equal(box.read('state.db'), 'state of A');
    assert.equal(box.has('before-upgrade.new'), false);
  });

  test('is announced again after another one on trial, which keeps the copy of the last good state', (t) => {
    const box = announced(t);
    box.guard(['start']);
    box.store('B');
    box.version('C');
    box.guard(['begin', 'C']);
    assert.equal(box.trial, 'trying C A 0');
    box.setTrial(`trying C A ${STARTS_MAX}`);
    box.guard(['start']);
    assert.equal(box.read('state.db'), 'state of A');
    assert.equal(box.runs, 'A');
  });

  test('leaves the one before and itself, and nothing older', (t) => {
    const box = announced(t);
    box.version('old');
    box.guard(['begin', 'B']);
    assert.deepEqual(box.versions, ['A', 'B']);
  });
});

describe('a version that failed', () => {
  test('goes with its state; history stays where its schema is the same', (t) => {
    const box = failed(t);
    assert.match(box.guard(['start']).output, /Version B failed; A runs again/);
    assertIsBack(box);
    assert.equal(box.read('history.db'), 'history of B');
  });

  test('goes with its history when only it can read that', (t) => {
    const box = failed(t, 2);
    box.guard(['start']);
    assertIsBack(box);
    assert.equal(box.read('history.db'), 'history of A');
    assert.equal(box.read('failed-upgrade/history.db'), 'history of B');
  });

  test('leaves no way further back: the state of the version before that one is gone with its copy', (t) => {
    const box = announced(t);
    box.guard(['start']);
    box.store('B');
    box.confirm('A');
    box.version('C');
    box.guard(['begin', 'C']);
    box.guard(['start']);
    box.setTrial(`trying C B ${STARTS_MAX}`);
    box.guard(['start']);
    assert.deepEqual([box.runs, box.read('state.db')], ['B', 'state of B']);
    for (const hasEmptyFolder of [false, true]) {
      // As a guard of earlier versions left it.
      if (hasEmptyFolder) box.makeFolder('before-upgrade');
      assert.doesNotMatch(box.guard(['status']).output, /^before:/m);
      const { status, output } = box.guard(['return', '--yes']);
      assert.equal(status, 1);
      assert.match(output, /There is no state of A to return to/);
      assert.deepEqual([box.runs, box.read('state.db')], ['B', 'state of B']);
    }
  });

  test('has only so many starts', (t) => {
    const box = announced(t);
    for (let start = 1; start <= STARTS_MAX; start += 1) {
      box.guard(['start']);
      assert.deepEqual([box.runs, box.trial], ['B', `trying B A ${start}`]);
    }
    box.guard(['start']);
    assert.equal(box.runs, 'A');
  });
});

describe('a cut of power', { timeout: HANGS_MS }, () => {
  test('at any step of the change to a new version is made good by the next start', (t) => {
    let cutAt = 1;
    for (; ; cutAt += 1) {
      const box = announced(t);
      const { changes } = box.guard(['start'], cutAt);
      if (changes < cutAt) break;
      assert.ok(['A', 'B'].includes(box.runs));
      assert.equal(box.guard(['start']).status, 0);
      assert.equal(box.runs, 'B', `cut at ${cutAt}`);
      assert.equal(box.read('state.db'), 'state of A');
      assert.equal(box.read('before-upgrade/state.db'), 'state of A', `cut at ${cutAt}`);
      assert.equal(box.read('before-upgrade/tls/authority.pem'), 'key of A', `cut at ${cutAt}`);
    }
    t.diagnostic(`${cutAt - 1} steps`);
    assert.ok(cutAt > 8);
  });

  test('at any step of a return is made good by the next start', (t) => {
    let cutAt = 1;
    for (; ; cutAt += 1) {
      const box = failed(t);
      const { changes } = box.guard(['start'], cutAt);
      if (changes < cutAt) break;
      assert.equal(box.guard(['start']).status, 0);
      assertIsBack(box);
    }
    t.diagnostic(`${cutAt - 1} steps`);
    assert.ok(cutAt > 15);
  });

  for (let tens = 0; tens < runs(1); tens += 1)
    test(`again and again, seeds ${tens * 10} to ${tens * 10 + 9}: always one version, with its own state`, (t) => {
      for (let seed = tens * 10; seed < tens * 10 + 10; seed += 1) {
        const random = createRandom(seed);
        const box = announced(t, random.chance(0.5) ? 1 : 2);
        let starts = 0;
        while (box.trial !== undefined) {
          // Half of the starts end within the first 24 changes, which is about their number.
          const cutAt = random.chance(0.5) ? random.integer(1, 24) : undefined;
          const { status } = box.guard(['start'], cutAt);
          assert.ok((starts += 1) < 200, `seed ${seed} does not end`);
          if (status === 0 && box.runs === 'B') box.store('B');
          if (status === 0 && box.runs === 'A') break;
        }
        assertIsBack(box);
      }
    });
});
