/** Earlier versions of a rule's script in a real browser: what differs, and the way back. */
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { picture, useConsole } from './support.ts';

const RULES = '/v3/site/rule_engine/rules';
const scriptOf = (text: string) => ({ code: Buffer.from(text).toString('base64'), runtime_version: 'V3' });

describe('versions of a rule in a browser', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({});

  test('a version of a rule is compared and restored, after a question when it does not compile', async () => {
    const { page, open, gateway } = opened();
    await gateway.ok('OWNER', 'POST', RULES, { slug: 'car', script: scriptOf('enapter.log(') });
    for (const text of ["enapter.log('one')\nlocal kept = 1", "enapter.log('two')\nlocal kept = 1"])
      await gateway.ok('OWNER', 'POST', `${RULES}/car/update_script`, { script: scriptOf(text) });
    await open('#/rules/car');
    const versions = page.locator('[data-test=versions] > li');
    const differences = versions.first().getByRole('button', { name: 'Differences' });
    await differences.click();
    await versions
      .first()
      .getByText("- enapter.log('one')\n+ enapter.log('two')\n  local kept = 1")
      .waitFor();
    await picture(page, 'rule-versions');
    await versions.first().getByRole('button', { name: 'Return to this version' }).click();
    await page.locator('.cm-content').getByText("'one'").waitFor();
    await until(async () => (await versions.count()) === 3);
    await versions.last().getByRole('button', { name: 'Differences' }).click();
    await versions.last().getByRole('button', { name: 'Return to this version' }).click();
    const question = page.getByRole('dialog');
    await question.getByText('Line 1').waitFor();
    await question.getByRole('button', { name: 'Cancel' }).click();
    const { rule } = (await gateway.ok('READONLY', 'GET', `${RULES}/car`)) as { rule: { broken?: true } };
    assert.equal(rule.broken, undefined);
  });
});
