/** The real Prometheus reads `/metrics` with the configuration and the alert rules of docs/monitoring. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { freePort } from '../support/line-engines.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const isThere = (program: string): boolean =>
  spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
const skip =
  !(isThere('prometheus') && isThere('promtool')) && 'Prometheus (package prometheus) is not installed';
const MONITORING = join(PROJECT_ROOT, 'docs', 'monitoring');
const SCRAPES = 3;

/** What README.md says, for this gateway and its token. */
function configurationOf(gateway: TestGateway, folder: string): string {
  const page = readFileSync(join(MONITORING, 'README.md'), 'utf8');
  let text = /```yaml\n(scrape_configs:[\s\S]*?)```/.exec(page)?.[1] ?? assert.fail('no scrape_configs');
  const token = join(folder, 'token');
  writeFileSync(token, `${gateway.token('READONLY')}\n`);
  for (const [documented, here] of [
    ['energy-gateway.local:8080', new URL(gateway.origin).host],
    ['/etc/prometheus/energy-gateway-token', token],
  ] as const) {
    assert.ok(text.includes(documented), documented);
    text = text.replace(documented, here);
  }
  const rules = JSON.stringify([join(MONITORING, 'alerts.yml')]);
  return `global: { scrape_interval: 1s, evaluation_interval: 1s }\nrule_files: ${rules}\n${text}`;
}

function promtool(words: string[], input = ''): void {
  const { status, stdout, stderr } = spawnSync('promtool', words, { input, encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
}

/** Resolves with the address of its API. */
async function startPrometheus(t: TestContext, file: string, folder: string): Promise<string> {
  const address = `127.0.0.1:${await freePort()}`;
  const words = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'data')}`];
  const child = spawn('prometheus', [...words, `--web.listen-address=${address}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (part: Buffer) => (errors += part.toString()));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  t.after(() => {
    child.kill();
    return ended;
  });
  await until(async () => {
    assert.equal(child.exitCode, null, errors);
    // It does not listen yet.
    const answer = await fetch(`http://${address}/-/ready`).catch(() => undefined);
    return answer?.status === 200;
  });
  return `http://${address}/api/v1`;
}

interface Queried {
  data: { result: { value: [number, string] }[] };
}
interface Ruled {
  data: { groups: { rules: { name: string; health: string; state: string; lastError?: string }[] }[] };
}

describe('Prometheus', { skip }, () => {
  test('Prometheus reads the metrics with a READONLY token, and evaluates every rule of alerts.yml', async (t) => {
    const gateway = await startTestGateway(t);
    const folder = temporaryFolder(t);
    const file = join(folder, 'prometheus.yml');
    writeFileSync(file, configurationOf(gateway, folder));
    promtool(['check', 'config', file]);
    promtool(['check', 'metrics'], await (await gateway.request('READONLY', 'GET', '/metrics')).text());

    const api = await startPrometheus(t, file, folder);
    const valueOf = async (query: string): Promise<number> => {
      const answer = await fetch(`${api}/query?query=${encodeURIComponent(query)}`);
      const { data } = (await answer.json()) as Queried;
      return Number(data.result[0]?.value[1] ?? 0);
    };
    await until(async () => (await valueOf('sum_over_time(up{job="energy-gateway"}[1m])')) >= SCRAPES);
    assert.equal(await valueOf('min_over_time(up{job="energy-gateway"}[1m])'), 1);
    assert.ok((await valueOf('count({job="energy-gateway",__name__=~"gateway_.+"})')) > 100);

    const rulesOf = async () => {
      const { data } = (await (await fetch(`${api}/rules`)).json()) as Ruled;
      return data.groups.flatMap(({ rules }) => rules);
    };
    await until(async () => (await rulesOf()).every(({ health }) => health !== 'unknown'));
    const rules = await rulesOf();
    assert.ok(rules.length >= 7);
    assert.deepEqual(
      rules.filter(({ health, state }) => health !== 'ok' || state === 'firing'),
      [],
    );
  });
});
