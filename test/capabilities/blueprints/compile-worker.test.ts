import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  type BlueprintCompiler,
  createWorkerCompiler,
} from '../../../src/capabilities/blueprints/compile-archive.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog } from '../../support/workspace.ts';
import { compiled, manifestWith, zipOf } from './support.ts';

function start(test: Pick<TestContext, 'after'>, clock = new TestClock()): BlueprintCompiler {
  const compiler = createWorkerCompiler({ clock, log: recordingLog(clock).log, metrics: createMetrics() });
  test.after(() => compiler.stop());
  return compiler;
}

test('a manifest whose values would take a gigabyte is refused before they are read, and the next one is judged', async (t) => {
  const compiler = start(t);
  const hostile = manifestWith(`.x: [${'1,'.repeat(1_048_000)}]\n`);
  const { problems } = await compiler.compile({
    zip: await zipOf({ 'manifest.yml': hostile }),
    profiles: new Map(),
    checks: 'STRICT',
  });
  assert.deepEqual(problems, ['manifest.yml: too many values']);
  const next = await compiler.compile({
    zip: await zipOf({ 'manifest.yml': 'a: 1' }),
    profiles: new Map(),
    checks: 'STRICT',
  });
  assert.deepEqual(next.problems, ['blueprint_spec: required']);
});

test('the thread compiles what the program itself would', async (t) => {
  const compiler = start(t);
  const manifest =
    'blueprint_spec: device/3.0\ndisplay_name: S\nruntime: {type: lua, options: {file: main.lua}}\n' +
    'implements: energy.flywheel\ntelemetry: {spin: {display_name: S, type: float}}\n';
  const profiles = new Map([
    [
      'energy.flywheel',
      {
        id: 'energy.flywheel',
        draft: false,
        implements: [],
        members: [{ section: 'telemetry' as const, name: 'spin', type: 'float' }],
      },
    ],
  ]);
  const result = await compiler.compile({
    zip: await zipOf({ 'manifest.yml': manifest, 'main.lua': 'return 1' }),
    profiles,
    checks: 'STRICT',
  });
  assert.deepEqual(result.manifest?.telemetry['spin']?.implements, ['energy.flywheel.spin']);
  const plain = compiled(manifest.replace('implements: energy.flywheel\n', ''), { 'main.lua': 'return 1' });
  assert.equal(Buffer.from(result.script ?? []).toString(), plain.script);
});

test('a blueprint whose thread gets no processor time is not refused as a bad one, but to be sent later', async (t) => {
  const clock = new TestClock();
  const compiler = start(t, clock);
  const task = {
    zip: await zipOf({ 'manifest.yml': 'a: 1' }),
    profiles: new Map(),
    checks: 'STRICT',
  } as const;
  const refused = assert.rejects(
    compiler.compile(task),
    (error) => error instanceof GatewayError && error.code === 'unavailable' && error.retryAfterS === 60,
  );
  // The thread is still being started, whatever the machine does.
  await clock.advance(3 * LIMITS.blueprints.compileTimeoutMs);
  await refused;
  assert.deepEqual((await compiler.compile(task)).problems, ['blueprint_spec: required']);
});
