import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hostileHttp } from '../../../scripts/soak/http-garbage.ts';
import { hostileMqtt } from '../../../scripts/soak/mqtt-garbage.ts';
import { soak } from '../../../scripts/soak/run.ts';
import { createRandom } from '../../../scripts/support/random.ts';
import { createSystemClock } from '../../../src/platform/clock/index.ts';

const INSIDER = { username: 'H', password: 'p' };

test('the seed of a soak gives the same bytes again, and another one does not', () => {
  const bytes = (seed: number): string => {
    const random = createRandom(seed);
    const parts = Array.from({ length: 50 }, (_, index) => [
      hostileMqtt(random.fork(index), INSIDER),
      hostileHttp(random.fork(index), 'token'),
    ]);
    return JSON.stringify(parts);
  };
  assert.equal(bytes(7), bytes(7));
  assert.notEqual(bytes(7), bytes(8));
});

describe('a short soak', () => {
  test('crashes nothing, and everything acknowledged is there', async () => {
    const clock = createSystemClock();
    try {
      const said: string[] = [];
      const report = await soak({
        seed: 1,
        sequences: 60,
        mixedMs: 1_500,
        devices: 2,
        program: 'source',
        clock,
        say: (line) => said.push(line),
      });
      assert.deepEqual(report.problems, [], said.join('\n'));
      assert.ok(report.attacks.mqtt >= 60 && report.attacks.http > 0, JSON.stringify(report.attacks));
      assert.ok(report.kept.samples > 0 && report.kept.executions > 0, JSON.stringify(report.kept));
      for (const { count } of [report.httpMs, report.pingMs, report.telemetryMs]) assert.ok(count > 0);
    } finally {
      clock.close();
    }
  });
});
