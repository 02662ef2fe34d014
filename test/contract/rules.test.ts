/** The rule engine: docs/interface/http.md#rules. Scripts do not run here: no runner is started. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, type TestGateway, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const NOWHERE = '00000000-0000-4000-8000-000000000000';
const RULES = '/v3/site/rule_engine/rules';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const script = (code = 'enapter.log("hi")', more: object = {}): object => ({
  code: base64(code),
  runtime_version: 'V3',
  ...more,
});

interface WireRule {
  id: string;
  slug: string;
  disabled: boolean;
  state: string;
  script: Record<string, unknown>;
}

let created = 0;
async function createRule(gateway: TestGateway, fields: object = {}): Promise<WireRule> {
  const body = { slug: `rule-${++created}`, script: script(), disable: true, ...fields };
  return (await gateway.ok('OWNER', 'POST', RULES, body))['rule'] as WireRule;
}

describe('the rule engine refuses', () => {
  const gateway = useTestGateway();

  const bodies: [title: string, body: object, fields: string[]][] = [
    ['a rule without slug and script', {}, ['slug', 'script']],
    ['an empty slug', { slug: '', script: script() }, ['slug']],
    ['no slug', { slug: null, script: script() }, ['slug']],
    ['a slug in the form of an id', { slug: NOWHERE, script: script() }, ['slug']],
    ['a script that is no base64', { slug: 'a', script: script('', { code: '***' }) }, ['script.code']],
    [
      'a script that is no UTF-8',
      { slug: 'a', script: script('', { code: Buffer.from([0xff]).toString('base64') }) },
      ['script.code'],
    ],
    ['a script of more than 256 KiB', { slug: 'a', script: script('-'.repeat(262_145)) }, ['script.code']],
    [
      'an unknown runtime',
      { slug: 'a', script: script('', { runtime_version: 'V2' }) },
      ['script.runtime_version'],
    ],
    [
      'an interval below 100 ms',
      { slug: 'a', script: script('', { runtime_version: 'V1', exec_interval: '99ms' }) },
      ['script.exec_interval'],
    ],
    [
      'an interval that is no duration',
      { slug: 'a', script: script('', { runtime_version: 'V1', exec_interval: 'often' }) },
      ['script.exec_interval'],
    ],
  ];
  for (const [title, body, fields] of bodies)
    test(title, async () => {
      const answer = await gateway().call('OWNER', 'POST', RULES, body);
      assert.equal(answer.status, 400);
      const { errors } = answer.body as { errors: { code: string; details: { field: string } }[] };
      assert.deepEqual(
        errors.map(({ code, details }) => [code, details.field]),
        fields.map((field) => ['invalid_body', field]),
      );
    });

  test('the rule engine refuses a slug that another rule has', async () => {
    const { slug } = await createRule(gateway());
    const other = await createRule(gateway());
    const again = await gateway().call('OWNER', 'POST', RULES, { slug, script: script() });
    assert.equal(refusal(again), '409 already_exists');
    const renamed = await gateway().call('OWNER', 'PATCH', `${RULES}/${other.id}`, { slug });
    assert.equal(refusal(renamed), '409 already_exists');
  });

  for (const [method, suffix, body] of [
    ['GET', '', undefined],
    ['PATCH', '', {}],
    ['DELETE', '', undefined],
    ['POST', '/update_script', { script: script() }],
    ['POST', '/disable', undefined],
    ['POST', '/enable', undefined],
    ['GET', '/logs', undefined],
  ] as const)
    test(`the rule engine refuses an unknown rule: ${method} /rules/{rule_id}${suffix}`, async () => {
      const answer = await gateway().call('OWNER', method, `${RULES}/${NOWHERE}${suffix}`, body);
      assert.equal(refusal(answer), '404 rule_not_found');
    });

  for (const verb of ['disable', 'enable', 'delete'])
    test(`the rule engine refuses batch_${verb} with an unknown id, and changes nothing`, async () => {
      const rule = await createRule(gateway(), { disable: verb === 'enable' });
      const path = `${RULES}/batch_${verb}`;
      const answer = await gateway().call('OWNER', 'POST', path, { rule_ids: [rule.id, NOWHERE] });
      assert.equal(refusal(answer), '404 rule_not_found');
      const after = await gateway().ok('OWNER', 'GET', `${RULES}/${rule.id}`);
      assert.deepEqual(after['rule'], rule);
    });

  test('the rule engine refuses a page of logs of more than 50 entries', async () => {
    const { id } = await createRule(gateway());
    const answer = await gateway().call('USER', 'GET', `${RULES}/${id}/logs?limit=51`);
    assert.equal(refusal(answer), '400 invalid_query');
  });
});

describe('the rule engine', () => {
  const gateway = useTestGateway();

  test('the rule engine is suspended and resumed, twice without effect', async () => {
    const path = '/v3/site/rule_engine';
    const { engine } = await gateway().ok('READONLY', 'GET', path);
    const { id, timezone } = engine as Record<string, string>;
    for (const [verb, state] of [
      ['suspend', 'SUSPENDED'],
      ['suspend', 'SUSPENDED'],
      ['resume', 'ACTIVE'],
      ['resume', 'ACTIVE'],
    ])
      assert.deepEqual(await gateway().ok('OWNER', 'POST', `${path}/${verb}`), {
        engine: { id, state, timezone },
      });
  });

  test('the rule engine stays suspended over a restart, with the same id', async () => {
    const { engine } = await gateway().ok('OWNER', 'POST', '/v3/site/rule_engine', { suspend: true });
    await gateway().restart();
    assert.deepEqual(await gateway().ok('READONLY', 'GET', '/v3/site/rule_engine'), { engine });
    await gateway().ok('OWNER', 'POST', '/v3/site/rule_engine', { suspend: false });
  });

  test('the rule engine follows the time zone of the site at once', async () => {
    await gateway().ok('OWNER', 'PATCH', '/v3/site', { timezone: 'Asia/Tokyo' });
    const { engine } = await gateway().ok('READONLY', 'GET', '/v3/site/rule_engine');
    assert.equal((engine as { timezone: string }).timezone, 'Asia/Tokyo');
  });
});

describe('a rule', () => {
  const gateway = useTestGateway();

  test('a rule comes back as it was sent, padding added, whatever the padding was', async () => {
    const code = base64('x = 1').replace(/=+$/, '');
    const rule = await createRule(gateway(), {
      script: { code, runtime_version: 'V3', exec_interval: '0s' },
    });
    assert.deepEqual(rule, {
      id: rule.id,
      slug: rule.slug,
      disabled: true,
      state: 'STOPPED',
      script: { code: base64('x = 1'), runtime_version: 'V3' },
    });
    assert.deepEqual(await gateway().ok('READONLY', 'GET', `${RULES}/${rule.slug}`), { rule });
  });

  for (const [given, shown] of [
    [undefined, '1s'],
    [null, '1s'],
    ['', '1s'],
    ['0s', '1s'],
    ['90s', '1m30s'],
    ['4.1m', '4m6s'],
    ['1s500us', '1.001s'],
    ['100ms', '100ms'],
    ['1d', '24h0m0s'],
  ] as const)
    test(`a rule runs every ${shown} in V1 with the interval ${JSON.stringify(given)}`, async () => {
      const rule = await createRule(gateway(), {
        script: script('', { runtime_version: 'V1', exec_interval: given }),
      });
      assert.equal(rule.script['exec_interval'], shown);
    });

  for (const body of [{}, { slug: null }, { slug: '' }])
    test(`a rule stays as it is when updated with ${JSON.stringify(body)}`, async () => {
      const rule = await createRule(gateway());
      assert.deepEqual(await gateway().ok('OWNER', 'PATCH', `${RULES}/${rule.id}`, body), { rule });
    });

  test('a rule is renamed, gets another script and runtime, is enabled and disabled', async () => {
    const rule = await createRule(gateway());
    const path = `${RULES}/${rule.id}`;
    const { rule: renamed } = await gateway().ok('OWNER', 'PATCH', path, { slug: 'renamed' });
    assert.equal((renamed as WireRule).slug, 'renamed');
    const other = { script: script('y = 2', { runtime_version: 'V1' }) };
    const { rule: updated } = await gateway().ok('OWNER', 'POST', `${path}/update_script`, other);
    assert.deepEqual((updated as WireRule).script, {
      code: base64('y = 2'),
      runtime_version: 'V1',
      exec_interval: '1s',
    });
    for (const [verb, disabled] of [
      ['enable', false],
      ['enable', false],
      ['disable', true],
      ['disable', true],
    ] as const) {
      const { rule: switched } = await gateway().ok('OWNER', 'POST', `${path}/${verb}`);
      assert.equal((switched as WireRule).disabled, disabled);
    }
  });

  test('a rule is kept and stopped with a fault in its script, and its log names the line', async () => {
    const code = 'local x = 1\nif x then\n';
    const { id, slug } = await createRule(gateway(), { script: script(code), disable: false });
    const { rule } = await gateway().ok('READONLY', 'GET', `${RULES}/${id}`);
    assert.equal((rule as WireRule).state, 'STOPPED');
    let logs: { severity: string; message: string; rule_id: string }[] = [];
    await until(async () => {
      logs = (await gateway().ok('USER', 'GET', `${RULES}/${id}/logs?severity=error`))['logs'] as typeof logs;
      return logs.length > 0;
    });
    assert.equal(logs[0]?.rule_id, id);
    assert.match(logs[0]?.message ?? '', new RegExp(`^${slug}\\.lua:\\d+: 'end' expected`));
  });

  test('a rule is deleted with its logs, and its stream is closed with 1008', async () => {
    const { id } = await createRule(gateway());
    const stream = await gateway().watch('USER', `${RULES}/${id}/logs/ws`);
    assert.deepEqual(await gateway().ok('OWNER', 'DELETE', `${RULES}/${id}`), {});
    assert.equal((await stream.closed).code, 1008);
    assert.equal(refusal(await gateway().call('OWNER', 'GET', `${RULES}/${id}`)), '404 rule_not_found');
  });

  test('a rule survives a restart', async () => {
    const rule = await createRule(gateway());
    await gateway().restart();
    assert.deepEqual(await gateway().ok('READONLY', 'GET', `${RULES}/${rule.id}`), { rule });
  });
});

describe('lists and batches of rules', () => {
  const gateway = useTestGateway();

  test('lists and batches of rules are by id, with offset and limit', async () => {
    for (let count = 0; count < 3; count++) await createRule(gateway());
    const { rules, total_count: total } = await gateway().ok('READONLY', 'GET', RULES);
    const ids = (rules as WireRule[]).map(({ id }) => id);
    assert.equal(total, 3);
    assert.deepEqual(ids, [...ids].sort());
    const page = await gateway().ok('READONLY', 'GET', `${RULES}?offset=1&limit=1`);
    assert.deepEqual(page, { rules: [(rules as WireRule[])[1]], total_count: 3 });
    assert.deepEqual(await gateway().ok('READONLY', 'GET', `${RULES}?offset=9`), {
      rules: [],
      total_count: 3,
    });
  });

  test('lists and batches of rules answer in the order of the request, ids and slugs mixed, duplicates once', async () => {
    const [first, second] = [await createRule(gateway()), await createRule(gateway())];
    const { rules, ...rest } = await gateway().ok('OWNER', 'POST', `${RULES}/batch_enable`, {
      rule_ids: [second.slug, first.id, second.id],
    });
    assert.deepEqual(rest, {});
    assert.deepEqual(
      (rules as WireRule[]).map(({ id, disabled }) => [id, disabled]),
      [
        [second.id, false],
        [first.id, false],
      ],
    );
    const none = await gateway().ok('OWNER', 'POST', `${RULES}/batch_disable`, { rule_ids: [] });
    assert.deepEqual(none, { rules: [] });
    const deleted = await gateway().ok('OWNER', 'POST', `${RULES}/batch_delete`, { rule_ids: [first.id] });
    assert.deepEqual(deleted, {});
    assert.equal(refusal(await gateway().call('OWNER', 'GET', `${RULES}/${first.id}`)), '404 rule_not_found');
  });
});
