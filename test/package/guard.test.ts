/**
 * The script that decides which version runs, cut off at each of its steps. The real script with the real programs of the
 * system; before each one that changes something it can be killed, with everything it has started.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { createRandom } from '../../scripts/support/random.ts';
import { runs } from '../support/runs.ts';
import { announced, Box, STARTS_MAX } from './guard-support.ts';

/** Some thousand programs are started. */
const HANGS_MS = 900_000;

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
  test('an installed version runs at once when there is none before it', (t) => {
    const box = new Box(t);
    box.version('A');
    box.guard(['begin', 'A']);
    assert.deepEqual([box.runs, box.trial], ['A', undefined]);
  });

  test('an installed version runs only after the state is copied, and its copy is whole', (t) => {
    const box = announced(t);
    assert.deepEqual([box.runs, box.trial], ['A', 'announced B A 0']);
    box.guard(['start']);
    assert.deepEqual([box.runs, box.trial], ['B', 'trying B A 1']);
    assert.equal(box.read('before-upgrade/state.db'), 'state of A');
    assert.equal(box.read('before-upgrade/tls/authority.pem'), 'key of A');
    assert.equal(box.has('before-upgrade/history.db'), false);
  });

  test('an installed version is not started when the state cannot be copied', (t) => {
    const box = announced(t);
    box.fillDisk();
    assert.match(box.guard(['start']).output, /Version B was not started.*free room.*A runs/);
    assert.deepEqual([box.runs, box.trial], ['A', undefined]);
    assert.equal(box.read('state.db'), 'state of A');
    assert.equal(box.has('before-upgrade.new'), false);
    assert.equal(box.failure, 'B no_copy -');
  });

  test('the copy of the state leaves out what was set aside, and leaves it where it lies', (t) => {
    const box = announced(t, 2);
    const asides = [
      'before-restore-5/history.db',
      'state.db.damaged-5',
      'history.db.of-another',
      'telemetry-journal.of-another/000001.journal',
    ];
    for (const path of asides) box.write(path, 'set aside');
    box.guard(['start']);
    assert.equal(box.read('before-upgrade/history.db'), 'history of A');
    for (const path of asides) assert.equal(box.has(join('before-upgrade', path)), false, path);
    box.store('B');
    box.setTrial(`trying B A ${STARTS_MAX}`);
    box.guard(['start']);
    for (const path of asides) assert.equal(box.read(path), 'set aside');
  });

  test('an installed version replaces another one on trial, and keeps the copy of the last good state', (t) => {
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

  test('an installed version keeps the one before and itself, and nothing older', (t) => {
    const box = announced(t);
    box.version('old');
    box.guard(['begin', 'B']);
    assert.deepEqual(box.versions, ['A', 'B']);
  });
});

describe('a disk without room for anything new', () => {
  test('the version before runs on a full disk when the state cannot be copied', (t) => {
    const box = announced(t);
    box.fillState();
    assert.equal(box.guard(['start']).status, 0);
    assert.deepEqual([box.runs, box.trial, box.read('state.db')], ['A', undefined, 'state of A']);
  });

  test('the version before runs on a full disk when the trial cannot be noted', (t) => {
    const box = announced(t);
    box.guard(['start']);
    box.run('A');
    box.setTrial('announced B A 0');
    box.blockNotes();
    box.refuseWrites();
    assert.equal(box.guard(['start']).status, 0);
    assert.deepEqual([box.runs, box.trial], ['A', undefined]);
  });

  test('a full disk lets a trial go on and count its starts, and the version before return with its state', (t) => {
    const box = announced(t);
    assert.equal(box.guard(['start']).status, 0);
    box.store('B');
    box.fillState();
    for (let start = 2; start <= STARTS_MAX; start += 1) {
      assert.equal(box.guard(['start']).status, 0);
      assert.deepEqual([box.runs, box.trial], ['B', `trying B A ${start}`]);
    }
    box.ended('exit-code', '1');
    assert.equal(box.guard(['start']).status, 0);
    assertIsBack(box);
  });
});

describe('a service that ends again and again', () => {
  /** Starts in a row, by the count of the service manager. */
  const row = (box: Box, first: number, last: number, ...properties: string[]): number[] =>
    Array.from({ length: last - first + 1 }, (_, index) => box.startsAfter(first + index, ...properties));

  test('a service that ends repeatedly is started after pauses growing to five minutes, where the service manager has none', (t) => {
    const box = announced(t);
    box.run('A');
    box.confirm('A');
    // With the two seconds of the service manager: 2, 4, 8 and so on.
    assert.deepEqual(row(box, 0, 11), [0, 0, 2, 6, 14, 30, 62, 126, 254, 298, 298, 298]);
  });

  test('a service that ends repeatedly is started at once by hand and after a boot, and then with short pauses again', (t) => {
    const box = announced(t);
    row(box, 0, 8);
    assert.deepEqual(row(box, 0, 3), [0, 0, 2, 6]);
    box.boot();
    assert.deepEqual(row(box, 0, 2), [0, 0, 2]);
  });

  test('a service that has run for ten minutes is started with short pauses again', (t) => {
    const box = announced(t);
    row(box, 0, 8);
    box.ranFor(500);
    assert.equal(box.startsAfter(9), 298);
    box.ranFor(601);
    assert.deepEqual(row(box, 10, 12), [0, 0, 2]);
  });

  test('a service manager with growing pauses is the only one to wait', (t) => {
    const box = announced(t);
    assert.deepEqual(row(box, 7, 9, 'RestartSteps=8'), [0, 0, 0]);
  });
});

describe('a version on trial that is ready', () => {
  for (const [title, stepS] of [
    ['ahead', 1e8],
    ['back', -1e8],
  ] as const)
    test(`a version on trial that is ready stays although the clock jumps ${title} meanwhile`, (t) => {
      const box = announced(t);
      box.guard(['start']);
      const { status, output } = box.watchReady(stepS);
      assert.equal(status, 0, output);
      assert.match(output, /Version B runs; A and the state from before are kept/);
      assert.deepEqual([box.runs, box.trial], ['B', undefined]);
    });
});

describe('a version that failed', () => {
  test('a version that failed goes with its state; history stays where its schema is the same', (t) => {
    const box = failed(t);
    assert.match(box.guard(['start']).output, /Version B failed; A runs again/);
    assertIsBack(box);
    assert.equal(box.read('history.db'), 'history of B');
  });

  test('a version that failed goes with its history when only it can read that', (t) => {
    const box = failed(t, 2);
    box.guard(['start']);
    assertIsBack(box);
    assert.equal(box.read('history.db'), 'history of A');
    assert.equal(box.read('failed-upgrade/history.db'), 'history of B');
  });

  test('a version that failed leaves no older one to return to: that state is gone with its copy', (t) => {
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

  for (const [title, last, failure, sentence] of [
    [
      'that it ended, and its last words in a line that is not too long',
      (box: Box) => {
        box.saysLast(`Cannot go on: no\tsun\u001b[1m ${'x'.repeat(400)}`);
        box.ended('exit-code', '1');
      },
      `B ended 1 no sun [1m ${'x'.repeat(281)}`,
      /Why: It ended by itself \(1\): no sun/,
    ],
    [
      'that it refused',
      (box: Box) => box.ended('exit-code', '78'),
      'B refused 78',
      /Why: It refused to run$/m,
    ],
    ['that it hung', (box: Box) => box.ended('watchdog', 'ABRT'), 'B hung ABRT', /Why: It hung$/m],
    [
      'that it was not ready',
      (box: Box) => box.ended('timeout', 'TERM'),
      'B not_ready TERM',
      /ready in time$/m,
    ],
    ['that it was cut off, and never ended', () => undefined, 'B cut_off -', /cut off each time$/m],
    [
      'nothing of a stop by hand',
      (box: Box) => box.ended('success', '0'),
      'B cut_off -',
      /cut off each time$/m,
    ],
  ] as const)
    test(`a version that failed ${title}, until the next one is installed`, (t) => {
      const box = failed(t);
      last(box);
      assert.match(box.guard(['start']).output, sentence);
      assert.equal(box.failure, failure);
      assert.match(box.guard(['status']).output, sentence);
      box.ended('exit-code', '1');
      assert.equal(box.failure, failure, 'the one that runs is not on trial');
      box.version('C');
      box.guard(['begin', 'C']);
      assert.equal(box.failure, undefined);
    });

  test('a version that failed is replaced although the reason cannot be written', (t) => {
    const box = failed(t);
    box.blockFailure();
    box.guard(['start']);
    assertIsBack(box);
  });

  test('a version that failed has a bounded number of starts', (t) => {
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
  test('a cut of power at any step of the change to a new version is made good by the next start', (t) => {
    const before = announced(t);
    let cutAt = 1;
    for (; ; cutAt += 1) {
      const box = before.copy(t);
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

  test('a cut of power at any step of a return is made good by the next start', (t) => {
    const before = failed(t);
    let cutAt = 1;
    for (; ; cutAt += 1) {
      const box = before.copy(t);
      const { changes } = box.guard(['start'], cutAt);
      if (changes < cutAt) break;
      assert.equal(box.guard(['start']).status, 0);
      assertIsBack(box);
    }
    t.diagnostic(`${cutAt - 1} steps`);
    assert.ok(cutAt > 15);
  });

  test('repeated power cuts leave always one version, with its own state', (t) => {
    const [same, other] = [announced(t, 1), announced(t, 2)];
    const first = randomInt(2 ** 30);
    t.diagnostic(`seeds from ${first} on`);
    for (let seed = first; seed < first + runs(4); seed += 1) {
      const random = createRandom(seed);
      const box = (random.chance(0.5) ? same : other).copy(t);
      let starts = 0;
      // A start that is cut after its decision is followed by another one, too.
      let isCut = true;
      while (isCut || box.trial !== undefined) {
        // Half of the starts end within the first 24 changes, which is about their number.
        const cutAt = random.chance(0.5) ? random.integer(1, 24) : undefined;
        const { status } = box.guard(['start'], cutAt);
        isCut = status !== 0;
        assert.ok((starts += 1) < 200, `seed ${seed} does not end`);
        if (status === 0 && box.runs === 'B') box.store('B');
        if (status === 0 && box.runs === 'A') break;
      }
      assertIsBack(box);
    }
  });
});
