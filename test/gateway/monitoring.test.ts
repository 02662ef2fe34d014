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
});
