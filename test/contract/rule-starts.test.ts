/** What answers to a change say of the state that follows (docs/interface/http.md#rules), and when logs can be read. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { ruleRoutes } from '../../src/capabilities/rules/index.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { type Sandboxed, startSandbox, started } from '../capabilities/rules/sandbox-support.ts';
import { newRule } from '../capabilities/rules/support.ts';
import { RULES, WITH_SANDBOX } from '../flows/rule-support.ts';
import { type Served, serve } from '../support/serve.ts';
import { useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const CODE = `enapter.log('begun') scheduler.add(1000, function() end)`;
const SCRIPT = { code: Buffer.from(CODE).toString('base64'), runtime_version: 'V3' };

/** What starts the rule `pump`, which is there and disabled unless it is created. */
const WAYS: [title: string, path: string, body: object | undefined][] = [
  ['created', RULES, { slug: 'pump', script: SCRIPT }],
  ['enabled', `${RULES}/pump/enable`, undefined],
  ['enabled among others', `${RULES}/batch_enable`, { rule_ids: ['pump'] }],
  ['given another script', `${RULES}/pump/update_script`, { script: SCRIPT }],
];

interface WireRule {
  state: string;
  starting?: boolean;
}

/** The answer is on its way: the start was handed to a sandbox that the test plays. */
async function asked(t: TestContext, [title, path, body]: (typeof WAYS)[number]) {
  const site = await startSandbox(t);
  site.program.hello();
  if (title !== 'created') site.rules.create(newRule('pump', { disabled: title !== 'given another script' }));
  const before = site.program.of('start').length;
  const served = await serve(t, {
    clock: site.clock,
    devices: site.devices,
    routes: ruleRoutes({ ...site, site: { get: () => ({ timezone: 'UTC' }) as never } }),
  });
  const answer = served.ask('OWNER', 'POST', path, body).then(({ body: told }) => {
    const { rule, rules } = told as { rule?: WireRule; rules?: WireRule[] };
    return rule ?? rules?.[0] ?? assert.fail(JSON.stringify(told));
  });
  await until(() => site.program.of('start').length > before);
  return { site, served, answer };
}

async function shown({ served, site }: { served: Served; site: Sandboxed }): Promise<WireRule> {
  const { body } = await served.ask('READONLY', 'GET', `${RULES}/${site.rules.require('pump').id}`);
  return (body as { rule: WireRule }).rule;
}

describe('a rule that is', () => {
  for (const way of WAYS) {
    test(`a rule that is ${way[0]} is STARTED in the answer, which waits for nothing else`, async (t) => {
      const { site, answer } = await asked(t, way);
      started(site, site.rules.require('pump'));
      const { state, starting } = await answer;
      assert.deepEqual([state, starting], ['STARTED', undefined]);
    });

    test(`a rule that is ${way[0]} is starting in the answer when its start takes longer than that waits`, async (t) => {
      const asking = await asked(t, way);
      const { site, answer } = asking;
      await site.clock.advance(LIMITS.rules.startAnswerMs);
      const { state, starting } = await answer;
      assert.deepEqual([state, starting], ['STOPPED', true]);
      assert.equal((await shown(asking)).starting, true);
      started(site, site.rules.require('pump'));
      const now = await shown(asking);
      assert.deepEqual([now.state, now.starting], ['STARTED', undefined]);
    });
  }
});

describe('rules with the real sandbox', () => {
  const gateway = useTestGateway(WITH_SANDBOX);

  test('the first log entry of a new rule is found by whoever reads the log at once', async () => {
    const { rule } = await gateway().ok('OWNER', 'POST', RULES, { slug: 'pump', script: SCRIPT });
    const { state, starting } = rule as WireRule;
    assert.ok(state === 'STARTED' || starting === true, JSON.stringify(rule));
    await until(async () => {
      const { rule: now } = await gateway().ok('READONLY', 'GET', `${RULES}/pump`);
      return (now as WireRule).state === 'STARTED';
    });
    const { logs } = await gateway().ok('USER', 'GET', `${RULES}/pump/logs`);
    const messages = (logs as { message: string }[]).map(({ message }) => message);
    assert.ok(messages.includes('rule started'), messages.join());
  });
});
