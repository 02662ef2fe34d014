/** What the runs of a rule saw and did, beside its log, in a real browser. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WITH_SANDBOX } from '../flows/rule-support.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { picture, useConsole } from './support.ts';

const RULES = '/v3/site/rule_engine/rules';
const SCRIPT = `
local battery = enapter.device('battery')
scheduler.add(86400000, function() battery.execute_command('set_charge_limit', { limit_w = 420 }) end)`;

describe('runs of rules in the console', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole(async () => WITH_SANDBOX.environment);

  test("the runs of a strategy's rule tell beside its log why it acted", async () => {
    const { page, open, gateway, complaints } = opened();
    const battery = await gateway.provision('Battery');
    await battery.connect();
    battery.obey();
    await gateway.ok('OWNER', 'POST', '/v3/library/strategies/limit/rule', {
      slug: 'high-load',
      parameters: {
        watched: { device: 'battery', attribute: 'load_total_power' },
        limit: 300,
        hold_s: 0,
        action: { device: 'battery', command: 'set_charge_limit', arguments: { limit_w: 420 } },
      },
    });
    await battery.telemetry({ load_total_power: 250 });
    await open('#/rules/high-load');
    const card = page.locator('[data-test=runs]');
    await card.getByText('Battery · Load Power 250 W → nothing sent').first().waitFor();
    await battery.telemetry({ load_total_power: 320 });
    const acted = card.getByText('Battery · Load Power 320 W → Set Charge Limit 420 sent to Battery');
    await acted.first().waitFor();
    await acted.first().click();
    await card.getByText('because of an event').first().waitFor();
    await card.getByRole('listitem').first().waitFor();
    await picture(page, 'rule-runs');
    assert.deepEqual(complaints, []);
  });

  test('the runs of a script appear once they are traced, or when it is run by hand', async () => {
    const { page, open, gateway, complaints } = opened();
    await gateway.ok('OWNER', 'POST', RULES, {
      slug: 'daily',
      script: { code: Buffer.from(SCRIPT).toString('base64'), runtime_version: 'V3' },
    });
    await open('#/rules/daily');
    const card = page.locator('[data-test=runs]');
    await card.getByText(/Runs of this rule are not traced/).waitFor();
    await card.getByRole('button', { name: 'Run now' }).click();
    await card.getByText('The rule has run once.').waitFor();
    await card.getByText('Set Charge Limit 420 sent to Battery').first().waitFor();
    await card.getByText('run by hand').waitFor();
    await card.getByRole('button', { name: 'Start tracing' }).click();
    await card.getByRole('button', { name: 'Stop tracing' }).waitFor();
    await gateway.ok('OWNER', 'POST', `${RULES}/daily/disable`);
    await card.getByRole('button', { name: 'Run now' }).click();
    await card.getByText('The rule is disabled; enable it first.').waitFor();
    assert.deepEqual(
      complaints.filter((text) => !text.includes('409')),
      [],
    );
  });
});
