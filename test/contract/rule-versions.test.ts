/** Earlier versions of the scripts of rules. Denials first. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const RULES = '/v3/site/rule_engine/rules';
const gateway = useTestGateway();

interface Version {
  id: string;
  saved_at: string;
  saved_by: string | null;
  current: boolean;
  script: { code: string; runtime_version: string; exec_interval?: string };
  strategy?: { id: string };
}

const scriptOf = (code: string) => ({ code: Buffer.from(code).toString('base64'), runtime_version: 'V3' });
const codeOf = ({ script }: { script: { code: string } }): string =>
  Buffer.from(script.code, 'base64').toString();

async function create(slug: string, ...codes: string[]): Promise<void> {
  const [first = '', ...others] = codes;
  await gateway().ok('OWNER', 'POST', RULES, { slug, script: scriptOf(first) });
  for (const code of others) await update(slug, code);
}

async function update(slug: string, code: string): Promise<void> {
  await gateway().ok('OWNER', 'POST', `${RULES}/${slug}/update_script`, { script: scriptOf(code) });
}

async function versionsOf(slug: string): Promise<Version[]> {
  const answer = await gateway().ok('USER', 'GET', `${RULES}/${slug}/versions`);
  return answer['rule_versions'] as Version[];
}

describe('a version of a rule', () => {
  test('a version of a rule is refused to whoever may not read logs or change rules', async () => {
    await create('denied', 'x = 1');
    const [version] = await versionsOf('denied');
    const path = `${RULES}/denied/versions`;
    assert.equal(refusal(await gateway().call(null, 'GET', path)), '401 invalid_header');
    assert.equal(refusal(await gateway().call('READONLY', 'GET', path)), '403 insufficient_role');
    const restore = `${path}/${version?.id}/restore`;
    assert.equal(refusal(await gateway().call('USER', 'POST', restore)), '403 insufficient_role');
  });

  test('a version of a rule is not found when the rule or version does not exist, or belongs to another rule', async () => {
    await create('one', 'x = 1');
    await create('other', 'x = 1');
    const [foreign] = await versionsOf('other');
    const { call } = gateway();
    assert.equal(refusal(await call('USER', 'GET', `${RULES}/nobody/versions`)), '404 rule_not_found');
    for (const id of [foreign?.id, 'x', '00000000-0000-4000-8000-000000000000'])
      for (const [method, end] of [
        ['GET', ''],
        ['POST', '/restore'],
      ] as const)
        assert.equal(
          refusal(await call('OWNER', method, `${RULES}/one/versions/${id}${end}`)),
          '404 rule_version_not_found',
        );
  });
});

test('each changed script is a version with its time and who saved it, the newest first', async () => {
  await create('changed', 'x = 1', 'x = 2', 'x = 2', 'x = 3');
  await gateway().ok('OWNER', 'PATCH', `${RULES}/changed`, { slug: 'renamed' });
  const versions = await versionsOf('renamed');
  assert.deepEqual(
    versions.map((version) => [codeOf(version), version.current]),
    [
      ['x = 3', true],
      ['x = 2', false],
      ['x = 1', false],
    ],
  );
  const { saved_at: at, saved_by: by } = versions[0] ?? assert.fail();
  assert.ok(Date.parse(at) > 0);
  assert.equal(typeof by, 'string');
  const path = `${RULES}/renamed/versions/${versions[1]?.id}`;
  assert.deepEqual(await gateway().ok('USER', 'GET', path), { rule_version: versions[1] });
});

test('a rule returns to an earlier version, which becomes its newest one', async () => {
  await create('back', 'x = 1', 'x = (');
  const [, first] = await versionsOf('back');
  const path = `${RULES}/back/versions/${first?.id}/restore`;
  const { rule } = (await gateway().ok('OWNER', 'POST', path)) as { rule: Version & { broken?: true } };
  assert.deepEqual([codeOf(rule), rule.broken], ['x = 1', undefined]);
  assert.deepEqual((await versionsOf('back')).map(codeOf), ['x = 1', 'x = (', 'x = 1']);
});

test('a rule returns to the strategy that it was made from', async () => {
  await gateway().provision('Battery');
  const action = { device: 'battery', command: 'set_mode', arguments: { mode: 'backup' } };
  const made = { slug: 'made', disable: true, parameters: { action } };
  await gateway().ok('OWNER', 'POST', '/v3/library/strategies/daily/rule', made);
  await update('made', 'x = 1');
  const [, first] = await versionsOf('made');
  assert.equal(first?.strategy?.id, 'daily');
  const path = `${RULES}/made/versions/${first?.id}/restore`;
  const { rule } = (await gateway().ok('OWNER', 'POST', path)) as { rule: Version };
  assert.equal(rule.strategy?.id, 'daily');
});

test('the newest versions of a rule are kept within the limits, and go with the rule', async () => {
  const { versions: most, versionBytes, scriptBytes } = LIMITS.rules;
  await create('many', ...Array.from({ length: most + 1 }, (_, index) => `x = ${index}`));
  const kept = await versionsOf('many');
  assert.deepEqual([kept.length, codeOf(kept.at(-1) ?? assert.fail())], [most, 'x = 1']);
  const large = (name: string): string => `-- ${name}`.padEnd(scriptBytes, 'x');
  await create('large', large('a'), large('b'), large('c'));
  assert.equal((await versionsOf('large')).length, versionBytes / scriptBytes);
  await gateway().ok('OWNER', 'DELETE', `${RULES}/large`);
  await create('large', 'x = 1');
  assert.equal((await versionsOf('large')).length, 1);
});
