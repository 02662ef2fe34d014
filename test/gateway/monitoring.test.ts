/** The files for Grafana and Prometheus ask for what /metrics of a started gateway has. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startTestGateway } from '../support/test-gateway.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const FILES = ['grafana-dashboard.json', 'alerts.yml', 'README.md'];

const namesIn = (text: string): string[] => [...new Set(text.match(/\bgateway_[a-z_]+/g))].sort();

describe('the files for monitoring', () => {
  for (const file of FILES)
    test(`${file} names metrics that there are`, async (t) => {
      const gateway = await startTestGateway(t);
      const response = await gateway.request('OWNER', 'GET', '/metrics');
      const served = new Set(
        [...(await response.text()).matchAll(/^# TYPE (\S+)/gm)].flatMap(([, name]) => [
          name,
          `${name}_count`,
        ]),
      );
      const asked = namesIn(readFileSync(join(PROJECT_ROOT, 'docs/monitoring', file), 'utf8'));
      assert.ok(asked.length > 5);
      assert.deepEqual(
        asked.filter((name) => !served.has(name)),
        [],
      );
    });

  test('README.md lists the queues that there are, each with depth, limit and what was dropped', async (t) => {
    const gateway = await startTestGateway(t);
    const page = await (await gateway.request('OWNER', 'GET', '/metrics')).text();
    const queuesOf = (name: string): string[] =>
      [...page.matchAll(new RegExp(`^gateway_${name}\\{queue="([^"]+)"\\} \\d+$`, 'gm'))]
        .map(([, queue = '']) => queue)
        .sort();
    const queues = queuesOf('queue_depth');
    assert.deepEqual(queuesOf('queue_limit'), queues);
    assert.deepEqual(queuesOf('queue_dropped_total'), queues);
    const [, table = ''] = readFileSync(join(PROJECT_ROOT, 'docs/monitoring/README.md'), 'utf8').split(
      '| `queue` |',
    );
    const rows = [...table.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(
      ([, cell = '']) => cell.match(/[a-z_-]{4,}/g) ?? [],
    );
    // Child programs are off here.
    const listed = rows.filter((name) => !name.startsWith('program_'));
    assert.deepEqual(
      queues.filter((name) => !name.startsWith('program_')),
      listed.sort(),
    );
  });
});
