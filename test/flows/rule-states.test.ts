/** The truth table of docs/interface/lua-rules.md#states: when a rule is STARTED, and what each event does to it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { type RuleGateway, RULES, WITH_SANDBOX, withRules } from './rule-support.ts';

const TICKING = `scheduler.add(50, function() end)`;

describe('a rule is', () => {
  const gateway = useTestGateway(WITH_SANDBOX);
  const rows: [
    runtime: 'V1' | 'V3',
    what: string,
    code: string,
    state: 'STARTED' | 'STOPPED',
    log: RegExp,
  ][] = [
    ['V3', 'does not compile', `local x = `, 'STOPPED', /unexpected symbol/],
    ['V3', 'has returned without a job', `enapter.log('done')`, 'STOPPED', /^rule finished$/],
    [
      'V3',
      'has removed its last job',
      `local id; id = scheduler.add(50, function() scheduler.remove(id) end)`,
      'STOPPED',
      /^rule finished$/,
    ],
    ['V3', 'has failed and waits for its restart', `error('oops')`, 'STOPPED', /^rule restarts in 10 s$/],
    [
      'V3',
      'fails in enapter.main',
      `function enapter.main() error('oops') end`,
      'STOPPED',
      /^rule restarts in 10 s$/,
    ],
    ['V1', 'does not compile', `local x = `, 'STOPPED', /unexpected symbol/],
    ['V3', 'has a job', TICKING, 'STARTED', /^rule started$/],
    ['V3', 'has a job that fails', `scheduler.add(50, function() error('oops') end)`, 'STARTED', /oops/],
    [
      'V3',
      'waits in its main part for ever',
      `while true do system.delay(20) enapter.log('loop') system.delay(500) end`,
      'STARTED',
      /^loop$/,
    ],
    [
      'V3',
      'waits in enapter.main for ever',
      `function enapter.main() enapter.log('main') while true do system.delay(100) end end`,
      'STARTED',
      /^main$/,
    ],
    ['V1', 'has returned', `enapter.log('done')`, 'STARTED', /^done$/],
    ['V1', 'has failed', `error('oops')`, 'STARTED', /oops/],
  ];
  for (const [index, [runtime, what, code, state, log]] of rows.entries())
    test(`a rule is ${state} when its script in ${runtime} ${what}`, async () => {
      const rules = withRules(gateway());
      const slug = `row-${index}`;
      await rules.create(slug, code, { runtime });
      await rules.heard(slug, log);
      await rules.becomes(slug, state);
      await gateway().ok('OWNER', 'DELETE', `${RULES}/${slug}`);
    });

  for (const runtime of ['V1', 'V3'] as const)
    test(`a rule is STOPPED in ${runtime} when it is disabled or the engine is suspended, whatever is enabled then`, async () => {
      const rules = withRules(gateway());
      const path = `${RULES}/wish-${runtime}`;
      const slug = `wish-${runtime}`;
      await rules.create(slug, TICKING.replace('scheduler', runtime === 'V1' ? '--' : 'scheduler'), {
        runtime,
        disable: true,
      });
      assert.equal(await rules.state(slug), 'STOPPED');
      await gateway().ok('OWNER', 'POST', `${path}/enable`);
      await rules.becomes(slug, 'STARTED');
      await gateway().ok('OWNER', 'POST', '/v3/site/rule_engine/suspend');
      assert.equal(await rules.state(slug), 'STOPPED');
      await gateway().ok('OWNER', 'POST', `${path}/disable`);
      await gateway().ok('OWNER', 'POST', `${path}/enable`);
      assert.equal(await rules.state(slug), 'STOPPED');
      await gateway().ok('OWNER', 'POST', '/v3/site/rule_engine/resume');
      await rules.becomes(slug, 'STARTED');
      await gateway().ok('OWNER', 'POST', `${path}/disable`);
      assert.equal(await rules.state(slug), 'STOPPED');
      await rules.heard(slug, /^rule stopped$/, 2);
      assert.equal(await rules.count(slug, /^rule started$/), 2);
    });
});

describe('a rule whose script does not compile', () => {
  const gateway = useTestGateway(WITH_SANDBOX);

  for (const runtime of ['V1', 'V3'] as const)
    test(`a rule whose script does not compile is kept in ${runtime}, logs so once, and waits for another script`, async () => {
      const rules = withRules(gateway());
      const slug = `draft-${runtime.toLowerCase()}`;
      await rules.create(slug, 'enapter.log(', { runtime });
      await gateway().ok('OWNER', 'POST', `${RULES}/${slug}/enable`);
      await gateway().ok('OWNER', 'POST', '/v3/site/rule_engine/suspend');
      await gateway().ok('OWNER', 'POST', '/v3/site/rule_engine/resume');
      await gateway().restart();
      assert.equal(await rules.state(slug), 'STOPPED');
      const { rule } = await gateway().ok('OWNER', 'GET', `${RULES}/${slug}`);
      assert.equal((rule as { broken?: true }).broken, true);
      const [said = '', ...more] = await rules.messages(slug);
      assert.match(said, new RegExp(`^${slug}\\.lua:1: unexpected symbol near <eof>$`));
      assert.deepEqual(more, []);
      await rules.update(slug, `enapter.log('whole')`, runtime);
      await rules.heard(slug, /^whole$/);
      await rules.update(slug, 'enapter.log(', runtime);
      await rules.heard(slug, /unexpected symbol/, 2);
      await rules.becomes(slug, 'STOPPED');
      await gateway().ok('OWNER', 'DELETE', `${RULES}/${slug}`);
    });
});

describe('a rule that runs', () => {
  const gateway = useTestGateway(WITH_SANDBOX);

  test('a rule that failed reports when it starts again', async () => {
    const rules = withRules(gateway());
    await rules.create('failing', `error('oops')`);
    await rules.heard('failing', /^rule restarts in 10 s$/);
    await rules.becomes('failing', 'STOPPED');
    const { rule } = await gateway().ok('OWNER', 'GET', `${RULES}/failing`);
    const leftMs = Date.parse((rule as { restarts_at: string }).restarts_at) - Date.now();
    assert.ok(leftMs <= 10_000, String(leftMs));
    await gateway().ok('OWNER', 'DELETE', `${RULES}/failing`);
  });

  test('a script is checked without being stored or run: the first fault, with its line', async () => {
    const check = (text: string): Promise<Record<string, unknown>> =>
      gateway().ok('OWNER', 'POST', `${RULES}/check`, {
        script: { code: Buffer.from(text).toString('base64'), runtime_version: 'V3' },
      });
    assert.deepEqual(await check('enapter.log(1)'), {});
    assert.deepEqual(await check('local a = 1\nlocal b ='), {
      fault: { message: 'unexpected symbol near <eof>', line: 2 },
    });
  });
  const starting = async (slug: string, runtime: 'V1' | 'V3' = 'V3'): Promise<RuleGateway> => {
    const rules = withRules(gateway());
    await rules.create(slug, runtime === 'V3' ? TICKING : '', { runtime });
    await rules.becomes(slug, 'STARTED');
    return rules;
  };

  test('a rule starts again with another script, fresh except for its storage, in the other runtime too', async () => {
    const rules = withRules(gateway());
    await rules.create('changing', `x = 1 storage.write('kept', 5) enapter.log('kept') ${TICKING}`);
    await rules.heard('changing', /^kept$/);
    const path = `${RULES}/changing`;
    const code = `enapter.log(tostring(x) .. ' ' .. tostring((storage.namespaced or storage).read('kept')))`;
    await rules.update('changing', `${code} ${TICKING}`);
    await rules.heard('changing', /^nil 5$/);
    await rules.update('changing', `${code} enapter.log(runtime_version)`, 'V1');
    await rules.heard('changing', /^v1$/, 2);
    const { rule } = await gateway().ok('READONLY', 'GET', path);
    assert.equal((rule as { state: string }).state, 'STARTED');
    await gateway().ok('OWNER', 'DELETE', path);
  });

  test('a rule that runs is not interrupted when it is renamed, enabled again, or the engine is resumed again', async () => {
    const rules = await starting('steady');
    await gateway().ok('OWNER', 'PATCH', `${RULES}/steady`, { slug: 'steady-now' });
    await gateway().ok('OWNER', 'POST', `${RULES}/steady-now/enable`);
    await gateway().ok('OWNER', 'POST', '/v3/site/rule_engine/resume');
    await gateway().ok('OWNER', 'POST', `${RULES}/batch_enable`, { rule_ids: ['steady-now'] });
    assert.equal(await rules.state('steady-now'), 'STARTED');
    await rules.update('steady-now', `enapter.log('new') ${TICKING}`);
    await rules.heard('steady-now', /^new$/);
    assert.equal(await rules.count('steady-now', /^rule started$/), 2);
  });

  test('a rule starts again in V3 when the time zone of the site changes; the next run of V1 uses it', async () => {
    const rules = withRules(gateway());
    await gateway().ok('OWNER', 'PATCH', '/v3/site', { timezone: 'UTC' });
    const tell = `enapter.log('offset ' .. TIMEZONE)`;
    await rules.create('zone-3', `${tell} ${TICKING}`);
    await rules.create('zone-1', tell, { runtime: 'V1' });
    for (const slug of ['zone-1', 'zone-3']) await rules.heard(slug, /^offset 0$/);
    await gateway().ok('OWNER', 'PATCH', '/v3/site', { timezone: 'Asia/Tokyo' });
    for (const slug of ['zone-1', 'zone-3']) await rules.heard(slug, /^offset 32400$/);
    assert.equal(await rules.count('zone-3', /^rule started$/), 2);
    for (const slug of ['zone-1', 'zone-3']) await gateway().ok('OWNER', 'DELETE', `${RULES}/${slug}`);
  });

  test('a rule starts again with the gateway, and a disabled one does not', async () => {
    const rules = await starting('lasting');
    await rules.create('asleep', TICKING, { disable: true });
    await gateway().restart();
    await rules.becomes('lasting', 'STARTED');
    assert.equal(await rules.state('asleep'), 'STOPPED');
    await rules.heard('lasting', /^rule started$/, 2);
    assert.equal(await rules.count('asleep', /./), 0);
  });

  test('a rule suspended in the middle of a command stops; the command itself goes on', async () => {
    const rules = withRules(gateway());
    const device = await gateway().provision('Slow');
    await device.connect();
    await rules.create(
      'waiting',
      `local result = enapter.device('slow').execute_command('set_charge_limit', {limit_w = 1})
       enapter.log(result and 'went on' or 'failed')`,
    );
    await until(() => device.requests.length === 1);
    await gateway().ok('OWNER', 'POST', '/v3/site/rule_engine/suspend');
    const [request = { id: '' }] = device.requests;
    await device.answer(request, 'completed', { result: {} });
    const path = `/v3/devices/${device.id}/command_executions/${request.id}`;
    const stateOf = async (): Promise<string> =>
      ((await gateway().ok('USER', 'GET', path))['execution'] as { state: string }).state;
    await until(async () => (await stateOf()) === 'SUCCESS');
    assert.equal(await rules.count('waiting', /went on|failed/), 0);
    await gateway().ok('OWNER', 'POST', '/v3/site/rule_engine/resume');
  });
});
