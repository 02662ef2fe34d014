import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import { CommitGroup } from '../../../src/platform/commit/index.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { settle, TestClock } from '../../support/test-clock.ts';
import { recordingLog } from '../../support/workspace.ts';

function createGroup(commit: () => Promise<void> | void = () => undefined, limits?: Limits['commits']) {
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const commits: number[] = [];
  const group = new CommitGroup({
    name: 'test',
    target: 'nowhere',
    clock,
    log,
    metrics: createMetrics(),
    limits,
    commit: () => {
      commits.push(clock.monotonicMs());
      return commit();
    },
  });
  return { clock, lines, commits, group };
}

/** Milliseconds until the request is durable; one that is expedited says that it waits. */
async function waited(clock: TestClock, group: CommitGroup, isExpedited = false): Promise<number> {
  const fromMs = clock.monotonicMs();
  const done: { atMs?: number } = {};
  void group.request(1).then(() => {
    done.atMs = clock.monotonicMs();
  });
  if (isExpedited) group.expedite();
  while (done.atMs === undefined) await clock.advanceToNext();
  return done.atMs - fromMs;
}

const { commits: limits } = LIMITS;

describe('a commit group', () => {
  test('a commit group refuses what the buffers cannot hold, and takes it when they are empty again', async () => {
    const { clock, group } = createGroup();
    const first = group.request(limits.bufferedBytes);
    assert.equal(group.isFull(1), true);
    await assert.rejects(group.request(1), { code: 'unavailable' });
    await clock.advance(10);
    await first;
    assert.equal(group.isFull(1), false);
  });

  test('a commit group reports a failure to whoever asked, keeps the data, and stores it when the disk takes data again', async () => {
    let isBroken = true;
    const { clock, group, commits } = createGroup(() => {
      if (isBroken) throw new Error('disk is full');
    });
    const first = assert.rejects(group.requestOrFail(1), { message: 'disk is full' });
    await clock.advance(limits.windowMaxMs);
    await first;
    const others = group.request(1);
    const second = assert.rejects(group.requestOrFail(1), { message: 'disk is full' });
    await clock.advance(limits.retryMs);
    await second;
    isBroken = false;
    const last = group.requestOrFail(1);
    await clock.advance(limits.retryMs);
    await Promise.all([others, last]);
    assert.equal(commits.length, 3);
    assert.equal(group.isFull(limits.bufferedBytes), false);
  });

  test('a commit group acknowledges nothing while the disk refuses, tries again, and recovers by itself', async () => {
    let isBroken = true;
    const { clock, group, lines } = createGroup(() => {
      if (isBroken) throw new Error('disk is full');
    });
    let isDone = false;
    void group.request(1).then(() => {
      isDone = true;
    });
    await clock.advance(5_000);
    assert.equal(isDone, false);
    assert.equal(group.failure?.message, 'disk is full');
    await assert.rejects(group.flush(), /disk is full/);
    isBroken = false;
    await clock.advance(limits.retryMs);
    assert.equal(isDone, true);
    assert.equal(group.failure, undefined);
    assert.deepEqual(
      lines.map((line) => line.message),
      ['commit failed, will be tried again', 'disk takes data again'],
    );
  });

  test('a commit group acknowledges a rare request after the short window', async () => {
    const { clock, group } = createGroup();
    for (let second = 0; second < 10; second++) {
      assert.equal(await waited(clock, group), limits.windowMinMs);
      await clock.advance(1_000);
    }
  });

  test('a commit group spends about one sync a second on steady traffic, and never waits longer than the window', async () => {
    const { clock, group, commits } = createGroup();
    let longestMs = 0;
    for (let step = 0; step < 500; step++) {
      const fromMs = clock.monotonicMs();
      void group.request(100).then(() => {
        longestMs = Math.max(longestMs, clock.monotonicMs() - fromMs);
      });
      await clock.advance(20);
    }
    assert.ok(commits.length <= 10 + limits.shortWindows + 1, `${commits.length} commits in 10 s`);
    assert.ok(longestMs <= limits.windowMaxMs - limits.syncAllowanceMs, `${longestMs} ms`);
  });

  test('a commit group acknowledges one device that sends every second after the short window, also after a busy time', async () => {
    const { clock, group } = createGroup();
    for (let step = 0; step < 200; step++) {
      void group.request(100);
      await clock.advance(20);
    }
    const waits: number[] = [];
    for (let second = 0; second < 60; second++) {
      const fromMs = clock.monotonicMs();
      // Now and then the gateway stores something of its own.
      if (second % 10 === 5) clock.setTimer(300, () => void group.request(1));
      waits.push(await waited(clock, group));
      await clock.advance(1_000 - (clock.monotonicMs() - fromMs));
    }
    assert.deepEqual(new Set(waits.slice(20)), new Set([limits.windowMinMs]));
  });

  test('a commit group spends two syncs a second at worst, whatever the number of devices that send every second', async () => {
    const spent: number[] = [];
    for (let devices = 1; devices <= 30; devices++) {
      const { clock, group, commits } = createGroup();
      for (let step = 0; step < 20 * devices; step++) {
        void group.request(100);
        await clock.advance(Math.round(1_000 / devices));
      }
      spent.push((commits.length - limits.shortWindows) / (clock.monotonicMs() / 1_000));
    }
    assert.ok(Math.max(...spent) <= 2, spent.map((rate) => rate.toFixed(2)).join(' '));
    assert.ok((spent.at(-1) ?? 0) < 1.2, 'and about one when there are many');
  });

  test('a commit group spends little more than one sync a second where the burst of every second comes in two parts', async () => {
    const { clock, group, commits } = createGroup();
    for (let second = 0; second < 100; second++) {
      const fromMs = clock.monotonicMs();
      void group.request(100);
      await clock.advance(limits.windowMinMs + 5);
      for (let device = 0; device < 30; device++) void group.request(100);
      await clock.advance(1_000 - (clock.monotonicMs() - fromMs));
    }
    assert.ok(commits.length < 130, `${commits.length} commits in 100 s`);
  });

  test('a commit group stores what nobody waits for with the next commit, or alone after its own window', async () => {
    const { clock, group, commits } = createGroup();
    void group.request(1, false);
    await clock.advance(500);
    assert.equal(commits.length, 0);
    assert.equal(await waited(clock, group), limits.windowMinMs);
    assert.equal(commits.length, 1);
    void group.request(1, false);
    group.expedite();
    await clock.advance(limits.unawaitedWindowMs - 1);
    void group.request(1, false);
    assert.equal(commits.length, 1);
    await clock.advance(1);
    assert.equal(commits.length, 2);
  });

  test('a commit group commits what nobody waits for as soon as it is much', async () => {
    const { clock, group, commits } = createGroup();
    void group.request(limits.busyBytes, false);
    await clock.advance(limits.quietMs);
    assert.equal(commits.length, 1);
  });

  test('a commit group spends no sync on data that nobody waits for, and delays no device for it', async () => {
    const { clock, group, commits } = createGroup();
    for (let second = 0; second < 60; second++) {
      const fromMs = clock.monotonicMs();
      void group.request(1, false);
      await clock.advance(300);
      assert.equal(await waited(clock, group), limits.windowMinMs);
      await clock.advance(1_000 - (clock.monotonicMs() - fromMs));
    }
    assert.equal(commits.length, 60);
  });

  test('a commit group leaves a device its short window beside large data that nobody waits for', async () => {
    const { clock, group } = createGroup();
    for (let second = 0; second < 60; second++) {
      const fromMs = clock.monotonicMs();
      for (let part = 0; part < 8; part++) {
        void group.request(limits.busyBytes * 4, false);
        await clock.advance(100);
      }
      const waitedMs = await waited(clock, group);
      assert.ok(waitedMs <= limits.windowMinMs, `${waitedMs} ms in second ${second}`);
      await clock.advance(1_000 - (clock.monotonicMs() - fromMs));
    }
  });

  test('a commit group commits a burst as soon as it pauses', async () => {
    const { clock, group } = createGroup();
    for (let spent = 0; spent < limits.shortWindows; spent++) await waited(clock, group);
    const burst = Array.from({ length: limits.busyRequests }, () => group.request(1));
    const fromMs = clock.monotonicMs();
    let untilMs = 0;
    void Promise.all(burst).then(() => {
      untilMs = clock.monotonicMs();
    });
    await clock.advance(50);
    assert.ok(untilMs - fromMs <= limits.quietMs * 2, `${untilMs - fromMs} ms`);
  });

  test('a commit group commits load that never pauses at least every busy window', async () => {
    const { clock, group, commits } = createGroup();
    for (let step = 0; step < 500; step++) {
      for (let index = 0; index < 20; index++) void group.request(1);
      await clock.advance(1);
    }
    const pauses = commits.slice(1).map((at, index) => at - (commits[index] ?? 0));
    assert.ok(Math.max(...pauses) <= limits.busyWindowMs + limits.quietMs * 2, String(Math.max(...pauses)));
  });

  test('a commit group commits a large buffer at once', async () => {
    const { group, commits } = createGroup();
    await group.request(limits.largeBytes);
    assert.equal(commits.length, 1);
  });

  test('a commit group never runs two commits at once; what arrives meanwhile is in the next one', async () => {
    const pending: (() => void)[] = [];
    const { clock, group, commits } = createGroup(() => new Promise((resolve) => pending.push(resolve)));
    const order: string[] = [];
    void group.request(1).then(() => order.push('first'));
    await clock.advance(10);
    void group.request(1).then(() => order.push('second'));
    await clock.advance(3_000);
    assert.equal(commits.length, 1);
    pending.shift()?.();
    await settle();
    assert.deepEqual(order, ['first']);
    await clock.advance(1_000);
    pending.shift()?.();
    await settle();
    assert.deepEqual(order, ['first', 'second']);
  });

  test('a commit group commits once more when it stops, and refuses afterwards', async () => {
    const { group, commits } = createGroup();
    const last = group.request(1);
    await group.stop();
    await last;
    assert.equal(commits.length, 1);
    await assert.rejects(group.request(1), { code: 'unavailable' });
  });

  test('a commit group rejects waiting callers when it stops on a broken disk', async () => {
    const { group, clock } = createGroup(() => {
      throw new Error('broken');
    });
    const last = group.request(1);
    await group.stop();
    await assert.rejects(last, /broken/);
    assert.equal(clock.waiting, 0);
  });
});

describe('a caller who sends on only after his acknowledgement', () => {
  test('a caller that waits for each acknowledgement gets it after the quick window, a thousand times in a row', async () => {
    const { clock, group } = createGroup();
    const waits = new Set<number>();
    for (let count = 0; count < 1_000; count++) waits.add(await waited(clock, group, true));
    assert.deepEqual([...waits], [limits.quickWindowMs]);
  });

  test('a caller that waits for each acknowledgement gets it also beside fifty devices that send every second', async () => {
    const { clock, group, commits } = createGroup();
    const others = clock.setRepeating(20, () => void group.request(100));
    await clock.advance(60_000);
    const before = commits.length;
    assert.ok(before <= 60 * 1.2 + limits.shortWindows, `${before} commits in a minute without him`);
    const waits: number[] = [];
    for (let count = 0; count < 1_000; count++) waits.push(await waited(clock, group, true));
    others.cancel();
    waits.sort((a, b) => a - b);
    assert.ok((waits[990] ?? 0) <= limits.quickWindowMs * 2, `${waits[990]} ms`);
  });

  test('a caller that waits for each acknowledgement waits as long as all others once the sync budget is spent', async () => {
    const quickSyncs = 100;
    const { clock, group, commits } = createGroup(undefined, { ...limits, quickSyncs });
    const periodMs = 300_000;
    const endMs = clock.monotonicMs() + periodMs;
    const waits: number[] = [];
    while (clock.monotonicMs() < endMs) {
      waits.push(await waited(clock, group, true));
      await clock.advance(5);
    }
    const most = quickSyncs + (periodMs / 1_000) * limits.quickSyncsPerSecond + 2 * limits.shortWindows;
    assert.ok(commits.length <= most, `${commits.length} commits in five minutes`);
    assert.equal(Math.max(...waits), limits.windowMaxMs - limits.syncAllowanceMs);
  });

  test('a caller that waits for each acknowledgement does not hasten a commit that waits for the disk', async () => {
    const { clock, group, commits } = createGroup(() => {
      throw new Error('disk is full');
    });
    void group.request(1);
    await clock.advance(limits.windowMinMs);
    void group.request(1);
    group.expedite();
    await clock.advance(limits.quickWindowMs * 2);
    assert.equal(commits.length, 1);
  });
});
