import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { benchmarks, runBenchmark } from '../../scripts/bench.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const bench = (...args: string[]) =>
  spawnSync(process.execPath, [join(PROJECT_ROOT, 'scripts/bench.ts'), ...args], { encoding: 'utf8' });

/** They wait for real time: run one by hand after a change of what it measures. */
const SLOW = ['start', 'engines', 'memory', 'telemetry-gateway'];

// A suite does not wait for what it would have to load first: its tests would run outside of it.
const ALL = await benchmarks();

describe('every benchmark that is quick with little work', () => {
  for (const benchmark of ALL.filter(({ name }) => !SLOW.includes(name)))
    test(`${benchmark.name} runs and reports figures`, async () => {
      const lines: string[] = [];
      await runBenchmark(benchmark, 'small', (line) => lines.push(line));
      assert.match(lines[0] ?? '', new RegExp(`^benchmark {3}${benchmark.name}: `));
      const figures = lines.filter((line) => /^ +[\d. ]*\d [A-Za-z/%]* +\S/.test(line));
      assert.ok(figures.length > 0, lines.join('\n'));
      assert.ok(!lines.some((line) => line.includes('NaN')), lines.join('\n'));
    });

  test('every benchmark has the name of its file', () => {
    const files = readdirSync(join(PROJECT_ROOT, 'scripts/bench')).map((file) => file.replace(/\.ts$/, ''));
    assert.deepEqual(ALL.map(({ name }) => name).sort(), files.sort());
  });

  test('the checksum of a benchmark is the same in every run', async () => {
    const benchmark = ALL.find(({ name }) => name === 'telemetry');
    const ignore = (): void => undefined;
    assert.ok(benchmark);
    const first = await benchmark.run(benchmark.small, ignore);
    assert.match(first ?? '', /^[0-9a-f]{16}$/);
    assert.equal(await benchmark.run(benchmark.small, ignore), first);
  });
});

describe('npm run bench', () => {
  test('npm run bench refuses an unknown name, and lists the existing ones', () => {
    const { status, stderr } = bench('no-such');
    assert.equal(status, 1);
    assert.match(stderr, /no benchmark is called no-such; there are: .*telemetry/);
  });

  test('npm run bench refuses a part that the benchmark does not have, and lists those there are', () => {
    const { status, stderr } = bench('growth', '--only', 'kitchens');
    assert.equal(status, 2);
    assert.match(
      stderr,
      /growth has no part called kitchens; there are: devices, days, consoles, rules, modbus/,
    );
    assert.match(bench('telemetry', '--only', 'rules').stderr, /telemetry has no part called rules/);
  });

  test('npm run bench measures on a small board, or says why there is none', () => {
    const { status, stdout, stderr } = bench('telemetry', '--small', '--board');
    if (status === 0) assert.match(stdout, /^board +0\.3 of a core/);
    else assert.match(stderr, /^a small board cannot be simulated here: /m);
  });

  test('npm run bench lists all benchmarks, or explains itself', () => {
    assert.match(bench().stdout, /^telemetry +\S/m);
    assert.match(bench('--help').stdout, /--small/);
  });
});
