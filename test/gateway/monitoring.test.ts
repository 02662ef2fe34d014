/** The files for Grafana and Prometheus ask for what /metrics of a started gateway has. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startTestGateway } from '../support/test-gateway.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const noPromtool = spawnSync('promtool', ['--version']).status !== 0 && 'no promtool';

const FILES = ['grafana-dashboard.json', 'alerts.yml', 'README.md'];

const namesIn = (text: string): string[] => [...new Set(text.match(/\bgateway_[a-z_]+/g))].sort();

describe('the files for monitoring', () => {
  for (const file of FILES)
    test(`the monitoring file ${file} names only metrics that exist`, async (t) => {
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

  test('every counter starts at 0, with each value of its labels', async (t) => {
    const gateway = await startTestGateway(t);
    const page = await (await gateway.request('OWNER', 'GET', '/metrics')).text();
    const counters = [...page.matchAll(/^# TYPE (\S+) counter$/gm)].map(([, name = '']) => name);
    assert.ok(counters.length > 30);
    // Those of child programs begin with their programs, which are off here.
    const empty = counters.filter((name) => !new RegExp(`^${name}[ {]`, 'm').test(page));
    assert.deepEqual(
      empty.filter((name) => !name.startsWith('gateway_program_')),
      [],
    );
    assert.match(page, /^gateway_device_messages_dropped_total\{reason="malformed"\} 0$/m);
  });

  test('the running and the installed version are metrics', async (t) => {
    const gateway = await startTestGateway(t);
    const page = await (await gateway.request('OWNER', 'GET', '/metrics')).text();
    const [, running] = /^gateway_version\{version="([^"]+)"\} 1$/m.exec(page) ?? [];
    const [, installed] = /^gateway_installed_version\{version="([^"]+)"\} 1$/m.exec(page) ?? [];
    assert.ok(running);
    assert.equal(installed, running);
  });

  test('a token in an authorization header is taken, as the example for Prometheus sends it', async (t) => {
    const gateway = await startTestGateway(t);
    const authorization = { Authorization: `Bearer ${gateway.token('READONLY')}` };
    assert.equal((await gateway.call(null, 'GET', '/metrics', undefined, authorization)).status, 200);
  });

  test('promtool accepts the example and the rules', { skip: noPromtool }, (t) => {
    const folder = temporaryFolder(t);
    const readme = readFileSync(join(PROJECT_ROOT, 'docs/monitoring/README.md'), 'utf8');
    const [, example = ''] = /```yaml\n([^`]+)```/.exec(readme) ?? [];
    const configuration = join(folder, 'prometheus.yml');
    const token = join(folder, 'token');
    writeFileSync(token, 'token');
    writeFileSync(configuration, example.replace('/etc/prometheus/energy-gateway-token', token));
    const rules = join(PROJECT_ROOT, 'docs/monitoring/alerts.yml');
    for (const words of [
      ['check', 'config', configuration],
      ['check', 'rules', rules],
    ]) {
      const { status, stdout, stderr } = spawnSync('promtool', words, { encoding: 'utf8' });
      assert.equal(status, 0, stdout + stderr);
    }
  });

  test('README.md lists the existing queues, each with depth, limit and drops', async (t) => {
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
