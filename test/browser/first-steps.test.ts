/**
 * The path of docs/first-steps.md by clicks alone: from a new box to what the first rule does, in a real browser with the
 * simulator. `GUIDE_PICTURES=docs/pictures npm test -- test/browser/first-steps.test.ts` makes the pictures of that page.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { until } from '../support/until.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { claim, useNewConsole } from './support.ts';

const PICTURES = process.env['GUIDE_PICTURES'];
/** A curve worth a picture; the path itself needs one value. */
const SAMPLES = PICTURES === undefined ? 1 : 45;

describe('the first steps in a browser', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useNewConsole({ GATEWAY_RULE_SANDBOX: 'true', GATEWAY_MQTTS: 'true' });
  const folder = mkdtempSync(join(tmpdir(), 'gateway-first-steps-'));
  const ends: (() => void)[] = [() => rmSync(folder, { recursive: true, force: true })];
  after(() => {
    for (const end of ends.toReversed()) end();
  });

  /** Of what is in sight, from the top or from what the step is about. */
  async function picture(name: string, about?: Locator): Promise<void> {
    if (PICTURES === undefined) return;
    const { page } = opened();
    await page.setViewportSize({ width: 820, height: 640 });
    await page.evaluate('scrollTo(0, 0)');
    await about?.evaluate((element) => element.scrollIntoView({ block: 'center' }));
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: join(PICTURES, `first-steps-${name}.png`) });
  }

  /** Charging is negative. */
  async function batteryPowers(): Promise<number[]> {
    const nowS = Math.ceil(Date.now() / 1_000);
    const query = {
      from: nowS - 600,
      to: nowS + 1,
      granularity: '1s',
      aggregation: 'last',
      telemetry: [{ device: 'inverter', attribute: 'battery_power' }],
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

  function simulate(config: string): void {
    const script = join(PROJECT_ROOT, 'scripts', 'simulate-device.ts');
    const words = ['--config', config, '--hour', '21', '--mishaps', '0'];
    const simulator = spawn(process.execPath, [script, ...words], { stdio: 'ignore' });
    ends.push(() => simulator.kill());
  }

  test('the box is claimed, and says what comes next', async () => {
    const { page } = opened();
    await page.locator('[name=claim_code]').waitFor();
    await picture('claim');
    await claim(opened());
    await page.getByRole('link', { name: 'Add the first device' }).waitFor();
    await picture('checklist');
  });

  test('a device is added and comes alive', async () => {
    const { page } = opened();
    await page.getByRole('link', { name: 'Add the first device' }).click();
    await page.getByRole('button', { name: /^Battery Inverter/ }).waitFor();
    await picture('blueprint');
    await page.getByRole('button', { name: /^Battery Inverter/ }).click();
    await page.fill('[name=name]', 'Inverter');
    await picture('name');
    await page.getByRole('button', { name: 'Add device' }).click();
    await page.getByRole('heading', { name: 'Inverter was added' }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download', exact: true }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'inverter.json');
    const config = join(folder, 'inverter.json');
    await download.saveAs(config);
    await picture('connection');
    simulate(config);
    const arrival = page.locator('[data-test=arrival]');
    await arrival.getByText(/^Inverter is ONLINE, \d+ values\.$/).waitFor();
    await picture('online', arrival);
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
    const text = readFileSync(script, 'utf8').replace("'22:00', '06:00'", "'00:00', '24:00'");
    await page.locator('.cm-content').fill(text);
    await page.keyboard.press('Control+Home');
    await picture('script');
    await page.getByRole('button', { name: 'Make rule' }).click();
    await page.getByRole('heading', { name: 'battery-night-reserve' }).waitFor();
    const logs = page.locator('[data-test=logs]');
    await logs.getByText('mode backup').waitFor();
    await picture('rule', logs);
  });

  test('what the rule does is seen in the chart', async () => {
    const { page } = opened();
    await until(async () => (await batteryPowers()).filter((power) => power < -1_000).length >= SAMPLES);
    await page.getByRole('link', { name: 'Overview' }).first().click();
    await page.locator('[data-device=inverter]').getByRole('link', { name: 'Inverter' }).first().click();
    await page.getByRole('link', { name: 'Chart' }).click();
    for (let press = 0; press < 4; press++) await page.getByRole('button', { name: 'Zoom in' }).click();
    const chart = page.locator('[data-test=chart]');
    await chart.locator('canvas').waitFor();
    await picture('chart');
    await chart.getByRole('button', { name: 'As a table' }).click();
    await chart
      .getByRole('cell', { name: /^[-−][45][ ,.]?\d/ })
      .first()
      .waitFor();
  });

  test('the browser had nothing to complain about', () => {
    assert.deepEqual(
      opened().complaints.filter((text) => !text.includes('Applying inline style')),
      [],
    );
  });
});
