/** What rules set of a device, at its commands and on the page of the rule, in a real browser. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WITH_SANDBOX } from '../flows/rule-support.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { picture, useConsole } from './support.ts';

const RULES = '/v3/site/rule_engine/rules';

const HOLDING = `
scheduler.add(1000, function()
  output.request('battery', 'set_charge_limit', { limit_w = 7000 },
    { priority = 40, safe = { command = 'set_mode', arguments = { mode = 'self_consumption' } } })
end)`;
const LIMITING = `
scheduler.add(1000, function()
  output.request('battery', 'set_charge_limit', nil, { max = { limit_w = 4200 } })
end)`;

describe('outputs in the console', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole(async () => WITH_SANDBOX.environment);

  test('the page of a device tells which rule set an output, what limits it, and its history', async () => {
    const { page, open, gateway, complaints } = opened();
    const battery = await gateway.provision('Battery');
    await battery.connect();
    battery.obey();
    for (const [slug, text] of [
      ['surplus-car', HOLDING],
      ['peak-limit', LIMITING],
    ] as const)
      await gateway.ok('OWNER', 'POST', RULES, {
        slug,
        script: { code: Buffer.from(text).toString('base64'), runtime_version: 'V3' },
      });
    await open('#/devices/battery/commands');
    const card = page.locator('[data-test=outputs]');
    await card.getByText('set_charge_limit limit_w=4200').first().waitFor();
    await card.getByText('limited by peak-limit').first().waitFor();
    await card.getByText('surplus-car').first().click();
    await card.getByText('When no rule asks any more: set_mode mode=self_consumption').waitFor();
    await card.getByRole('listitem').first().waitFor();
    await picture(page, 'outputs');
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    await page.setViewportSize({ width: 1_280, height: 900 });
    await open('#/rules/peak-limit');
    await card.getByText('Battery · set_charge_limit limit_w=4200').waitFor();
    await gateway.ok('OWNER', 'POST', `${RULES}/surplus-car/disable`);
    await card.getByText('safe value').first().waitFor();
    assert.deepEqual(complaints, []);
  });
});
