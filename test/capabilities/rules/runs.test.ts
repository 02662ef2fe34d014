import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { exactJson } from '../../../src/lib/json.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { Role } from '../../../src/lib/role.ts';
import { runToWire } from '../../../src/capabilities/rules/run-schema.ts';
import { ruleRoutes } from '../../../src/capabilities/rules/index.ts';
import { PastRuns } from '../../../src/capabilities/rules/traced-runs.ts';
import type { RunStep, TracedRun } from '../../../src/protocol/rule-trace.ts';
import { serve } from '../../support/serve.ts';
import { startSandbox } from './sandbox-support.ts';
import { newRule, startSite } from './support.ts';
import { settle } from '../../support/test-clock.ts';

const PATH = '/v3/site/rule_engine/rules/pump';

const run = (fields: Partial<TracedRun> = {}): TracedRun => ({
  cause: 'schedule',
  startedAtMs: Date.UTC(2026, 2, 1, 14, 2, 10),
  durationMs: 12,
  steps: [],
  leftOut: 0,
  ...fields,
});

async function startRuns(t: TestContext) {
  const site = await startSandbox(t);
  const rule = site.rules.create(newRule('pump'));
  const routes = ruleRoutes({ ...site, site: { get: () => ({ timezone: 'UTC' }) as never } });
  const served = await serve(t, { clock: site.clock, devices: site.devices, routes });
  site.program.hello();
  const [start] = site.program.of('start');
  site.program.say({
    type: 'state',
    ruleId: rule.id,
    generation: start?.generation ?? 0,
    state: 'STARTED',
  });
  /** Answers the question that is asked, once it is. */
  const answer = async (
    type: 'trace' | 'run_now',
    report: { runs: TracedRun[]; refusal?: 'running' | 'nothing' },
  ): Promise<void> => {
    while (site.program.of(type).length === 0) await settle();
    const id = site.program.of(type).at(-1)?.id;
    if (id !== undefined) site.program.say({ type: 'runs', ruleId: rule.id, id, ...report });
  };
  return { site, rule, served, answer };
}

describe('the runs of a rule', () => {
  test('the runs of a rule are for users, of known rules, in pages', async (t) => {
    const { served } = await startRuns(t);
    assert.equal((await served.ask('READONLY', 'GET', `${PATH}/runs`)).status, 403);
    assert.equal((await served.ask('USER', 'GET', '/v3/site/rule_engine/rules/none/runs')).status, 404);
    assert.equal((await served.ask('USER', 'GET', `${PATH}/runs?limit=x`)).status, 400);
  });

  test('the runs of a rule are those of the script that runs, then those of scripts that have ended', async (t) => {
    const { site, rule, served, answer } = await startRuns(t);
    site.program.say({ type: 'runs', ruleId: rule.id, runs: [run({ cause: 'start' })] });
    const asked = served.ask('USER', 'GET', `${PATH}/runs?limit=2`);
    await answer('trace', { runs: [run({ error: 'boom' }), run()] });
    const { body } = await asked;
    const { runs, total_count: total } = body as {
      runs: { cause: string; error?: string }[];
      total_count: number;
    };
    assert.deepEqual(
      runs.map(({ cause, error }) => [cause, error]),
      [
        ['schedule', 'boom'],
        ['schedule', undefined],
      ],
    );
    assert.equal(total, 3);
  });

  test('the runs of a rule are bounded in number and size for scripts that have ended, and gone with the rule', () => {
    const { changes, others, length } = LIMITS.rules.trace;
    const past = new PastRuns(LIMITS.rules.trace);
    for (let count = 0; count < 40; count++) past.add('a', [run(), run({ cause: 'start' })]);
    assert.equal(past.of('a').length, changes + others);
    const long = run({
      steps: [{ kind: 'telemetry', atMs: 0, durationMs: 0, result: 'x'.repeat(length / 2) }],
    });
    for (let count = 0; count < 9; count++) past.add('a', [long]);
    assert.ok(exactJson(past.of('a')).length <= 2 * length);
    past.forget('a');
    assert.deepEqual(past.of('a'), []);
  });

  test('the runs of a rule are dropped when they come after the rule was deleted', async (t) => {
    const { site, rule } = await startRuns(t);
    site.rules.remove([rule.id]);
    site.rules.keepRuns(rule.id, [run()]);
    assert.deepEqual(await site.rules.runs(rule), []);
  });

  test('the runs of a rule are traced for rules of strategies, for others by choice, which goes to the sandbox at once', async (t) => {
    const { site, rule, served } = await startRuns(t);
    const made = site.rules.create({ ...newRule('made'), strategy: { id: 'daily', parameters: {} } });
    assert.deepEqual(
      site.program.of('start').map(({ rule: { isTraced } }) => isTraced),
      [false, true],
    );
    const { body } = await served.ask('OWNER', 'PATCH', PATH, { traced: true });
    assert.equal((body as { rule: { traced: boolean } }).rule.traced, true);
    await served.ask('OWNER', 'PATCH', PATH.replace('pump', 'made'), { traced: false });
    assert.deepEqual(site.program.of('update'), [
      { type: 'update', ruleId: rule.id, slug: 'pump', isTraced: true },
      { type: 'update', ruleId: made.id, slug: 'made', isTraced: false },
    ]);
    assert.equal((await served.ask('OWNER', 'PATCH', PATH, { traced: 'yes' })).status, 400);
  });
});

describe('running a rule now', () => {
  const POST = `${PATH}/run`;
  const codeOf = ({ status, body }: { status: number; body: unknown }) =>
    `${status} ${(body as { errors?: { code: string }[] }).errors?.[0]?.code}`;

  test('running a rule now is for owners, and answers with the runs that came of it', async (t) => {
    const { served, answer } = await startRuns(t);
    assert.equal((await served.ask('USER', 'POST', POST)).status, 403);
    const asked = served.ask('OWNER', 'POST', POST);
    await answer('run_now', { runs: [run({ cause: 'run_now' })] });
    const { status, body } = await asked;
    assert.equal(status, 200);
    assert.deepEqual(body, {
      runs: [
        {
          started_at: '2026-03-01T14:02:10.000Z',
          duration_ms: 12,
          cause: 'run_now',
          steps: [],
          left_out: 0,
        },
      ],
    });
  });

  test('running a rule now is refused while the rule is disabled, does not compile, or all rules are suspended', async (t) => {
    const { site, served } = await startRuns(t);
    const ask = async () => codeOf(await served.ask('OWNER', 'POST', POST));
    site.rules.setDisabled(['pump'], true);
    assert.equal(await ask(), '409 rule_disabled');
    site.rules.setDisabled(['pump'], false);
    site.rules.suspend();
    assert.equal(await ask(), '409 rule_engine_suspended');
    site.rules.resume();
    site.rules.updateScript(site.rules.require('pump'), {
      code: 'if',
      runtimeVersion: 'V3',
      execIntervalMs: undefined,
    });
    assert.equal(await ask(), '422 rule_broken');
    assert.deepEqual(site.program.of('run_now'), []);
  });

  test('running a rule now is refused while the rule runs, and when it has nothing to run', async (t) => {
    for (const [refusal, code] of [
      ['running', '409 rule_running'],
      ['nothing', '422 rule_without_functions'],
    ] as const) {
      const { served, answer } = await startRuns(t);
      const asked = served.ask('OWNER', 'POST', POST);
      await answer('run_now', { runs: [], refusal });
      assert.equal(codeOf(await asked), code);
    }
  });
});

test('values of a run are shown to roles that may read them', async (t) => {
  const site = await startSite(t);
  const device = site.addDevice();
  const step = (fields: Partial<RunStep>): RunStep => ({
    kind: 'storage_read',
    atMs: 0,
    durationMs: 0,
    name: 'token',
    result: '"abc"',
    ...fields,
  });
  const seen = (role: Role, fields: Partial<RunStep> = {}) => {
    const [first] = runToWire({ ...site, role }, run({ steps: [step(fields)] })).steps;
    return first?.is_hidden ? 'hidden' : first?.result;
  };
  assert.equal(seen('USER'), 'hidden');
  assert.equal(seen('OWNER'), '"abc"');
  assert.equal(seen('USER', { kind: 'telemetry', deviceId: 'gone' }), 'hidden');
  const manifest = site.devices.manifest(device);
  for (const [name, { access_level: level }] of Object.entries(manifest.telemetry)) {
    const fields = { kind: 'telemetry', deviceId: device.id, name, result: 1 } as const;
    assert.equal(seen('VENDOR', fields), level === 'system' ? 'hidden' : 1, name);
    assert.equal(seen('READONLY', fields), level === undefined || level === 'readonly' ? 1 : 'hidden', name);
  }
  assert.equal(seen('USER', { kind: 'command', deviceId: device.id, name: 'no_such_command' }), 'hidden');
});
