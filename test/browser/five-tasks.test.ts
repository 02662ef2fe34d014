/**
 * Five tasks of every day on a phone, by touch, from the overview on: how many taps each needs, and how many screens are
 * scrolled. docs/decisions/0080-console.md has the numbers with the seconds, which the test reports.
 */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { PASSWORD, useConsole } from './support.ts';

const TAPS_MAX = 3;
const PHONE = { width: 390, height: 844 };
/** Height of the menu at the bottom. */
const BAR_PX = 70;

const WALLBOX = `blueprint_spec: device/3.0
display_name: Wallbox
runtime: { type: embedded }
telemetry:
  charging_enabled: { display_name: Charging Allowed, type: boolean }
command_groups: { control: { display_name: Control } }
commands:
  set_charging:
    display_name: Release Charging
    group: control
    access_level: user
    ui: { quick_access: true }
    arguments: { enabled: { display_name: Enabled, type: boolean, required: true } }
`;

/** A finger on a phone, which scrolls to what it looks for. */
class Finger {
  taps = 0;
  screens = 0;

  async see(what: Locator): Promise<void> {
    await what.waitFor();
    const belowPx = await what.evaluate((one) => one.getBoundingClientRect().bottom);
    const seenPx = PHONE.height - BAR_PX;
    this.screens += Math.max(0, Math.ceil((belowPx - seenPx) / seenPx));
    await what.evaluate((one) => one.scrollIntoView({ block: 'nearest' }));
  }

  async tap(what: Locator): Promise<void> {
    await this.see(what);
    await what.tap();
    this.taps += 1;
  }
}

describe('five tasks on a phone', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  /** Plays a task from the top of the overview, and holds it to the taps that it may take. */
  async function play(t: TestContext, page: Page, task: (finger: Finger) => Promise<unknown>): Promise<void> {
    await visit(page, '#/');
    await page.evaluate('scrollTo(0, 0)');
    const finger = new Finger();
    const startMs = performance.now();
    await task(finger);
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(1);
    t.diagnostic(`${finger.taps} taps, ${finger.screens} screens scrolled, ${seconds} s`);
    assert.ok(finger.taps <= TAPS_MAX, `${finger.taps} taps`);
  }

  test('five tasks on a phone are done by touch with at most three taps each', async (t) => {
    const { browser, gateway } = opened();
    const { ok } = gateway;
    const nowS = Math.floor(Date.now() / 1_000);
    const house = await gateway.provision('House');
    await house.connect();
    await house.telemetry({
      timestamp: nowS,
      pv_total_power: 5_200,
      battery_power: -3_000,
      battery_soc: 64,
      grid_total_power: -1_000,
      load_total_power: 1_200,
      alerts: ['battery_low'],
    });
    const startS = nowS - (nowS % 86_400) - 12 * 3_600;
    const rows = Array.from({ length: 61 }, (_, minute) => `${startS + minute * 60},0,0,2500,2500`);
    const names = ['pv_total_power', 'battery_power', 'grid_total_power', 'load_total_power'];
    const head = names.map((name) => `telemetry=${name} device=house`).join(',');
    await ok('OWNER', 'POST', '/v3/telemetry/import', `ts,${head}\n${rows.join('\n')}\n`, {
      'Content-Type': 'text/csv',
    });
    await ok('OWNER', 'PATCH', '/v3/site/energy/tariffs', {
      currency: 'EUR',
      items: [{ valid_from: '2020-01-01', import_price: { kind: 'FIXED', price: 0.3 }, export_price: null }],
    });
    const zip = await writeArchive(new Map([['manifest.yml', Buffer.from(WALLBOX)]]));
    const { id: blueprintId } = await ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    const wallbox = await gateway.provision('Wallbox', String(blueprintId));
    await wallbox.connect();
    wallbox.obey();
    await wallbox.telemetry({ charging_enabled: false });
    const pump = await gateway.provision('Pump');
    await pump.connect();
    await pump.telemetry({ battery_soc: 50 });
    await pump.leave();

    const context = await browser.newContext({
      viewport: PHONE,
      hasTouch: true,
      isMobile: true,
      serviceWorkers: 'block',
      reducedMotion: 'reduce',
    });
    t.after(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    await page.goto(gateway.origin);
    await page.fill('[name=name]', 'installer');
    await page.fill('[name=password]', PASSWORD);
    await page.keyboard.press('Enter');
    await page.locator('.nav').waitFor();
    const attention = page.locator('[data-test=attention] a');

    await t.test('the battery is seen to charge from the sun', (one) =>
      play(one, page, async (finger) => {
        await finger.see(page.getByText(/3\.0 kW go into the battery/).first());
        assert.equal(finger.screens, 0);
      }),
    );
    await t.test('the cost of yesterday is explained by what was imported', (one) =>
      play(one, page, async (finger) => {
        await finger.tap(page.getByRole('button', { name: 'Yesterday' }));
        await finger.see(page.getByText(/0\.75 €/).first());
      }),
    );
    await t.test('the car charges now', (one) =>
      play(one, page, async (finger) => {
        await finger.tap(page.getByRole('switch', { name: 'Release Charging' }));
        await until(() => wallbox.requests.length === 1);
      }),
    );
    await t.test('an alert is silent until tomorrow', (one) =>
      play(one, page, async (finger) => {
        await finger.tap(attention.filter({ hasText: /Battery Low/ }));
        await finger.tap(page.locator('button', { hasText: 'Until tomorrow' }).first());
        await until(async () => {
          const { alerts } = await ok('OWNER', 'GET', '/v3/alerts?state=RAISED');
          return JSON.stringify(alerts).includes('"acknowledged_until":"');
        });
      }),
    );
    await t.test('a device that is offline is named with the moment since when it has been silent', (one) =>
      play(one, page, async (finger) => {
        await finger.tap(attention.filter({ hasText: 'Pump is offline' }));
        await finger.see(page.getByText(/The last value was received .+ ago \(\d.+\)/).first());
      }),
    );
    await house.leave();
    await wallbox.leave();
  });
});
