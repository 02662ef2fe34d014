/**
 * The path of docs/first-steps.md in the console alone: from a new box to what the first rule does to a device that is
 * simulated, in a real browser. `GUIDE_PICTURES=docs/pictures npm test -- test/browser/first-steps.test.ts` makes the pictures of
 * that page and of README.md, in the light of the zone `TZ`.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { until } from '../support/until.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';
import { findBrowser, keyboardOf, NO_BROWSER } from './browser.ts';
import { claim, useNewConsole } from './support.ts';

const PICTURES = process.env['GUIDE_PICTURES'];
/** A curve worth a picture; the path itself needs one value. */
const SAMPLES = PICTURES === undefined ? 1 : 10;

describe('the first steps in a browser', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useNewConsole({
    GATEWAY_RULE_SANDBOX: 'true',
    GATEWAY_BUILT_IN_MODULE: 'true',
    GATEWAY_SITE_TIMEZONE: Intl.DateTimeFormat().resolvedOptions().timeZone,
  });

  /** A picture of the visible part, from the top or from the subject of the step. */
  async function picture(name: string, about?: Locator): Promise<void> {
    if (PICTURES === undefined) return;
    const { page } = opened();
    await page.setViewportSize({ width: 1_000, height: 700 });
    await page.mouse.move(0, 0);
    await page.evaluate('scrollTo(0, 0)');
    await about?.evaluate((element) => element.scrollIntoView({ block: 'center' }));
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: join(PICTURES, `first-steps-${name}.png`) });
  }

  /** The picture of README.md: the simulated house after a day. */
  async function frontPicture(): Promise<void> {
    if (PICTURES === undefined) return;
    const { page, gateway } = opened();
    const nowS = Math.floor(Date.now() / 1_000);
    const names = ['pv_total_power', 'battery_power', 'grid_total_power', 'load_total_power'];
    const rows = Array.from({ length: 1_440 }, (_, minute) => {
      const atS = nowS - 60 * (1_440 - minute);
      const hour = new Date(atS * 1_000).getHours() + (atS % 3_600) / 3_600;
      const sun = Math.max(0, Math.round(6_000 * Math.sin(((hour - 6) / 12) * Math.PI)));
      const load = Math.round(
        500 + 900 * Math.exp(-((hour - 7.5) ** 2)) + 1_400 * Math.exp(-((hour - 19) ** 2) / 4),
      );
      const charge = Math.max(-2_500, Math.min(load - sun, 1_500));
      return [atS, sun, charge, load - sun - charge, load].join();
    });
    const head = names.map((name) => `telemetry=${name} device=simulated-house`).join();
    await gateway.ok('OWNER', 'POST', '/v3/telemetry/import', `ts,${head}\n${rows.join('\n')}\n`, {
      'Content-Type': 'text/csv',
    });
    await page.setViewportSize({ width: 1_440, height: 860 });
    await page.reload();
    await page.getByRole('button', { name: 'Hide' }).click();
    await page.locator('.energy-bars rect.pv').first().waitFor();
    await page.locator('[data-test=energy-flow] .flow-node.pv:not(.unknown)').waitFor();
    await page.evaluate('scrollTo(0, 0)');
    await page.screenshot({ path: join(PICTURES, 'console.png') });
  }

  /** Charging is negative. */
  async function batteryPowers(): Promise<number[]> {
    const nowS = Math.ceil(Date.now() / 1_000);
    const query = {
      from: nowS - 600,
      to: nowS + 1,
      granularity: '1s',
      aggregation: 'last',
      telemetry: [{ device: 'simulated-house', attribute: 'battery_power' }],
    };
    const { gateway } = opened();
    const asCsv = { accept: 'text/csv' };
    const answer = await gateway.call('OWNER', 'POST', '/v3/telemetry/query_timeseries', query, asCsv);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return String(answer.body)
      .split('\n')
      .slice(1)
      .flatMap((row) => row.split(',').slice(1, 2).filter(Boolean).map(Number));
  }

  test('the box is claimed, and the page says what comes next', async () => {
    const { page } = opened();
    await page.locator('[name=claim_code]').waitFor();
    await picture('claim');
    await claim(opened());
    await page.getByRole('link', { name: 'Add the first device' }).waitFor();
    await picture('checklist');
  });

  test('a simulated device is added by keyboard alone, comes alive, and its energy flows on the overview', async () => {
    const { page } = opened();
    const keyboard = keyboardOf(page);
    await keyboard.choose('a', 'Add the first device');
    await page.getByRole('button', { name: /^Try it with a simulated device/ }).waitFor();
    await picture('blueprint');
    await keyboard.choose('button', 'Try it with a simulated device');
    await page.getByRole('heading', { name: 'Simulated House' }).waitFor();
    await page
      .locator('[name=runtime] option:checked', { hasText: 'This gateway' })
      .waitFor({ state: 'attached' });
    await picture('name');
    await keyboard.choose('button', 'Add device');
    const arrival = page.locator('[data-test=arrival]');
    await arrival.getByText(/^Simulated House is online and sends \d\d values\.$/).waitFor();
    await picture('online', arrival);
    await keyboard.choose('a', 'Overview');
    const flow = page.locator('[data-test=energy-flow]');
    for (const role of ['pv', 'battery', 'grid', 'load'])
      await flow.locator(`.flow-node.${role}:not(.unknown)`).waitFor();
    await picture('overview', flow);
  });

  test('a rule from a template runs', async () => {
    const { page } = opened();
    await until(async () => (await batteryPowers()).length >= SAMPLES);
    await page.getByRole('link', { name: 'Rules' }).first().click();
    await page.getByRole('link', { name: 'New rule' }).click();
    const template = page.getByRole('link', { name: /^Battery night reserve/ });
    await template.waitFor();
    await picture('templates', template);
    await template.click();
    await page.locator('.cm-line', { hasText: 'NIGHT_FROM' }).first().waitFor();
    // Long lines scroll in the editor, not the page of a phone.
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    await page.setViewportSize({ width: 820, height: 640 });
    const script = join(PROJECT_ROOT, 'docs/samples/rules/battery-night-reserve.lua');
    // At whatever time somebody reads this, it is night.
    const text = readFileSync(script, 'utf8')
      .replace("'inverter' --", "'simulated-house' --")
      .replace("'22:00', '06:00'", "'00:00', '24:00'");
    await page.locator('.cm-content').fill(text);
    await page.keyboard.press('Control+Home');
    await picture('script');
    await page.getByRole('button', { name: 'Create rule' }).click();
    await page.getByRole('heading', { name: 'battery-night-reserve' }).waitFor();
    const logs = page.locator('[data-test=logs]');
    await logs.getByText('mode backup').waitFor();
    await picture('rule', logs);
  });

  test('what the rule does is seen in the chart', async () => {
    const { page } = opened();
    // More than the sun of the house charges it with, most of the day.
    await until(async () => (await batteryPowers()).filter((power) => power < -4_000).length >= SAMPLES);
    await page.getByRole('link', { name: 'Overview' }).first().click();
    const device = page.locator('[data-device=simulated-house]');
    await device.getByRole('link', { name: 'Simulated House' }).first().click();
    await page.getByRole('link', { name: 'Chart' }).click();
    for (let press = 0; press < 4; press++) await page.getByRole('button', { name: 'Zoom in' }).click();
    const chart = page.locator('[data-test=chart]');
    await chart.locator('canvas').waitFor();
    // What crosses the inverter is less where the sun gives a part.
    await page.getByLabel('AC Power').uncheck();
    await page.getByLabel('Battery Power').check();
    await chart.locator('.series-chip').getByText('Battery Power').waitFor();
    await picture('chart', page.locator('.chart'));
    await chart.getByRole('button', { name: 'Show table' }).click();
    await chart
      .getByRole('cell', { name: /^[-−][45][ ,.]?\d/ })
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Overview' }).first().click();
    await frontPicture();
  });

  test('the first steps log no error in the browser', () => {
    assert.deepEqual(
      opened().complaints.filter((text) => !text.includes('Applying inline style')),
      [],
    );
  });
});
