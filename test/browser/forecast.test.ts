/** What the overview expects of today and tomorrow, in a real browser. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manifestWith, zipOf } from '../capabilities/blueprints/support.ts';
import { until } from '../support/until.ts';
import { RULES, WITH_SANDBOX } from '../flows/rule-support.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { picture, useConsole } from './support.ts';

const DAY_S = 86_400;
const STEP_S = 60;
const SCHEDULES = `telemetry:
  forecast_power:
    type: float
    display_name: Forecast Power
    unit: W
  forecast_power_schedule:
    type: json
    json_schema: '{}'
    display_name: Forecast Power Schedule
  energy_price_schedule:
    type: json
    json_schema: '{}'
    display_name: Energy Price Schedule
`;

describe('the forecast on the overview', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole(WITH_SANDBOX.environment);
  const midnightS = Math.floor(Date.now() / 1_000 / DAY_S) * DAY_S;

  async function importHouse(fromS: number, toS: number, cloud = 1): Promise<void> {
    const rows = [];
    for (let atS = fromS; atS < toS; atS += STEP_S) {
      const hour = ((atS - midnightS + 60 * DAY_S) % DAY_S) / 3_600;
      const sunW = Math.max(0, Math.sin(((hour - 6) / 12) * Math.PI)) * 4_000 * cloud;
      const loadW = 350 + (hour > 17 && hour < 21 ? 1_400 : 0) + (hour > 6 && hour < 8 ? 700 : 0);
      rows.push(`${atS},${sunW},${loadW},${loadW - sunW},0,50`);
    }
    const head = [
      'ts',
      ...['pv_total_power', 'load_total_power', 'grid_total_power', 'battery_power', 'battery_soc'].map(
        (name) => `telemetry=${name} device=battery`,
      ),
    ].join();
    await opened().gateway.ok('OWNER', 'POST', '/v3/telemetry/import', `${head}\n${rows.join('\n')}\n`, {
      'Content-Type': 'text/csv',
    });
  }

  const comeIntoSight = (): Promise<unknown> =>
    opened().page.evaluate(
      `document.querySelector('[data-test=forecast-place]').scrollIntoView({ block: 'center' })`,
    );

  test('the forecast is absent while tomorrow is unknown, and is loaded when it comes into view', async () => {
    const { gateway, page } = opened();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    const device = await gateway.provision('Battery');
    await device.connect();
    await device.telemetry({
      pv_total_power: 500,
      battery_soc: 50,
      grid_total_power: 10,
      load_total_power: 9,
    });
    await page.locator('.books-numbers').first().waitFor();
    await Promise.all([page.waitForResponse(/energy\/forecast$/), comeIntoSight()]);
    await page.waitForLoadState('networkidle');
    assert.equal(await page.locator('[data-test=forecast]').count(), 0);
    assert.equal(asked.filter((path) => path === '/v3/site/energy/forecast').length, 1);
  });

  test('the forecast shows what is expected of tomorrow over what was measured, with a table', async () => {
    const { gateway, page } = opened();
    for (const back of [7, 6]) await importHouse(midnightS - back * DAY_S, midnightS - (back - 1) * DAY_S);
    await importHouse(midnightS, Math.floor(Date.now() / 1_000), 0.8);
    const zip = await zipOf({ 'manifest.yml': manifestWith(SCHEDULES) });
    const { blueprint } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip, {
      'Content-Type': 'application/zip',
    });
    const sky = await gateway.provision('Sky', (blueprint as { id: string }).id);
    await sky.connect();
    const quarters = Array.from({ length: 192 }, (_, index) => (index % 96) / 4);
    await sky.telemetry({
      forecast_power_schedule: {
        start: midnightS,
        step_s: 900,
        values: quarters.map((hour) => Math.max(0, Math.sin(((hour - 6) / 12) * Math.PI)) * 4_000),
      },
      energy_price_schedule: {
        start: midnightS,
        step_s: 900,
        values: quarters.map((hour) => 0.3 - 0.1 * Math.cos((Math.floor(hour) / 12) * Math.PI)),
      },
    });
    await page.reload();
    await page.locator('.books-numbers').first().waitFor();
    await comeIntoSight();
    const card = page.locator('[data-test=forecast]');
    await card.waitFor();
    const text = await card.locator('.forecast-say').innerText();
    assert.match(text, /^Tomorrow: about 30\.\d kWh of sun and 15\.\d kWh of consumption\. /);
    assert.match(text, /Import is cheapest at 00:00 \(0\.200\) and dearest at 12:00 \(0\.400\)\.$/);
    await card.getByText('Show table').click();
    const rows = card.locator('tbody tr');
    assert.equal(await rows.count(), 48);
    // In the first hour of a day nothing has come yet, and what came has no column.
    assert.match(
      await rows.nth(0).innerText(),
      /00:00\s+0 Wh\s+(?:0 Wh\s+|–\s+)?350 Wh\s+(?:35\d Wh\s+|–\s+)?(?:0 Wh\s+|–\s+)?0\.200/,
    );
    await card.getByText('Show table').click();
    await picture(page, 'forecast');
    await sky.leave();
  });

  test('the plan of a rule is shown in words and drawn, until the rule is disabled', async () => {
    const { gateway, page } = opened();
    const device = await gateway.provision('Store');
    await device.connect();
    device.obey();
    const code = `
      local values = {}
      for hour = 0, 47 do
        values[hour + 1] = hour % 24 < 4 and 'CHARGE' or hour % 24 < 18 and 'HOLD' or 'DISCHARGE'
      end
      scheduler.add(500, function()
        output.request('store', 'set_charge_limit', { limit_w = 3000 }, {
          safe = { command = 'set_mode', arguments = { mode = 'self_consumption' } },
          plan = { start = ${midnightS}, step_s = 3600, values = values },
        })
      end)`;
    await gateway.ok('OWNER', 'POST', RULES, {
      slug: 'cheap-hours',
      script: { code: Buffer.from(code).toString('base64'), runtime_version: 'V3' },
    });
    await until(async () => {
      const { energy_forecast: forecast } = await gateway.ok('OWNER', 'GET', '/v3/site/energy/forecast');
      return (forecast as { plans: unknown[] }).plans.length > 0;
    });
    await page.reload();
    await page.locator('.books-numbers').first().waitFor();
    await comeIntoSight();
    const plan = page.locator('[data-test=plan]');
    await plan.waitFor();
    await plan.locator('path.measured').waitFor({ state: 'attached' });
    const text = await plan.innerText();
    assert.match(
      text,
      /^Store, planned by cheap-hours\. Today: .*discharge 18:00–00:00\. Tomorrow: charge 00:00–04:00, hold 04:00–18:00, /,
    );
    assert.equal(await plan.locator('svg rect').count(), 6);
    const card = page.locator('[data-test=forecast]');
    await card.getByText('Show table').click();
    const cells = await card.locator('tbody tr td:last-child').allInnerTexts();
    assert.deepEqual(
      [cells[0], cells[5], cells[23], cells[47]],
      ['charge', 'hold', 'discharge', 'discharge'],
    );
    await card.getByText('Show table').click();
    await picture(page, 'forecast-plan');
  });

  test('the forecast is shown in German, and fits a phone', async (t) => {
    const { page } = opened();
    t.after(() => page.evaluate("localStorage.removeItem('language')"));
    await page.evaluate("localStorage.setItem('language', 'de')");
    await page.setViewportSize({ width: 390, height: 844 });
    await page.reload();
    await page.locator('.books-numbers').first().waitFor();
    await comeIntoSight();
    const card = page.locator('[data-test=forecast]');
    await card.getByRole('heading', { name: 'Heute und morgen' }).waitFor();
    assert.match(
      await card.locator('.forecast-say').innerText(),
      /^Morgen: etwa 30,\d kWh Sonne und 15,\d kWh Verbrauch\./,
    );
    const plan = await card.locator('[data-test=plan]').innerText();
    assert.match(
      plan,
      /^Store, geplant von cheap-hours\. Heute: .*Morgen: laden 00:00–04:00, halten 04:00–18:00/,
    );
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    await picture(page, 'forecast-german');
    await opened().gateway.ok('OWNER', 'POST', `${RULES}/cheap-hours/disable`);
    await page.reload();
    await page.locator('.books-numbers').first().waitFor();
    await comeIntoSight();
    await card.waitFor();
    assert.equal(await card.locator('[data-test=plan]').count(), 0);
  });
});
