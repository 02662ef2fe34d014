/** What a client's first page says of rules, backups and users (docs/interface/http.md#sites). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { useTestGateway } from '../support/test-gateway.ts';
import { RULES, WITH_SANDBOX, withRules } from './rule-support.ts';

const ENGINE = '/v3/site/rule_engine';

describe('the attention of a site', () => {
  const gateway = useTestGateway(WITH_SANDBOX);
  const attention = async (role: 'READONLY' | 'OWNER' | 'INSTALLER'): Promise<Record<string, unknown>> => {
    const answer = await gateway().ok(role, 'GET', '/v3/site/attention');
    return answer['attention'] as Record<string, unknown>;
  };

  test('the attention of a site shows a reader rules only, an owner backups too, and an installer users', async () => {
    const rules = { are_rules_suspended: false, rules_at_fault: [] };
    const backups = { is_backup_made: false, backup_error: null };
    assert.deepEqual(await attention('READONLY'), rules);
    assert.deepEqual(await attention('OWNER'), { ...rules, ...backups });
    const { user_count: users, ...others } = await attention('INSTALLER');
    assert.deepEqual(others, { ...rules, ...backups });
    assert.equal(typeof users, 'number');
  });

  test('the attention of a site ends for backups as soon as somebody has taken one', async () => {
    await gateway().request('INSTALLER', 'POST', '/v3/backup', { password: 'correct horse battery' });
    assert.equal((await attention('OWNER'))['is_backup_made'], true);
  });

  test('the attention of a site names enabled rules that do not compile or fail, and no others', async () => {
    const rules = withRules(gateway());
    await rules.create('sound', `scheduler.add(50, function() end)`);
    await rules.create('ended', `enapter.log('done')`);
    await rules.create('broken', `local x = `);
    await rules.create('failing', `error('oops')`);
    await rules.heard('failing', /^rule restarts in/);
    await rules.heard('ended', /^rule finished$/);
    const faults = async (): Promise<string[]> =>
      ((await attention('READONLY'))['rules_at_fault'] as { slug: string; is_broken: boolean }[])
        .map(({ slug, is_broken: isBroken }) => `${slug}${isBroken ? ' is broken' : ''}`)
        .toSorted();
    assert.deepEqual(await faults(), ['broken is broken', 'failing']);
    for (const slug of ['broken', 'failing'])
      await gateway().ok('OWNER', 'POST', `${RULES}/${slug}/disable`, {});
    assert.deepEqual(await faults(), []);
  });

  test('the attention of a site mentions suspended rules only while some should run', async () => {
    await gateway().ok('OWNER', 'POST', `${ENGINE}/suspend`, {});
    assert.equal((await attention('READONLY'))['are_rules_suspended'], true);
    for (const slug of ['sound', 'ended']) await gateway().ok('OWNER', 'DELETE', `${RULES}/${slug}`);
    assert.equal((await attention('READONLY'))['are_rules_suspended'], false);
  });
});
