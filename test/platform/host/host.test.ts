import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createHost } from '../../../src/platform/host/index.ts';

describe('the host', () => {
  test('the host is measured while the disk of its folder gives no figures', (t) => {
    const host = createHost(join(tmpdir(), 'gateway-no-such-folder'));
    t.after(() => host.stop());
    const { disk, memoryTotalBytes } = host.load();
    assert.equal(disk, undefined);
    assert.ok(memoryTotalBytes > 0);
  });

  test('the host reports what it is', (t) => {
    const host = createHost(tmpdir());
    t.after(() => host.stop());
    const facts = host.facts();
    assert.match(facts.hostname, /./);
    assert.match(facts.operatingSystem, /\(\w+ \d.*\)$/);
    assert.equal(facts.processorArchitecture, process.arch);
    assert.ok(facts.processorCount >= 1);
    assert.ok(facts.memoryTotalBytes > 64 * 1_048_576);
  });

  test('the host measures plausible values, time after time', (t) => {
    const host = createHost(tmpdir());
    t.after(() => host.stop());
    for (let reading = 0; reading < 3; reading++) {
      const load = host.load();
      assert.ok(load.cpuLoadPercent >= 0 && load.cpuLoadPercent <= 100, `${load.cpuLoadPercent} %`);
      assert.ok(load.memoryUsedBytes > 0 && load.memoryUsedBytes < load.memoryTotalBytes);
      assert.ok(load.processMemoryBytes && load.processMemoryBytes < load.memoryTotalBytes);
      assert.ok(load.disk && load.disk.freeBytes >= 0 && load.disk.freeBytes <= load.disk.totalBytes);
      assert.ok(load.eventLoopDelayMs >= 0);
      assert.ok(load.cpuTemperatureCelsius === undefined || Number.isFinite(load.cpuTemperatureCelsius));
    }
  });
});
