/** What is used daily: commands as controls, chips of a chart, addresses and titles of tabs, blueprints that are alike. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import type { MockDevice } from '../support/mock-device.ts';
import { until } from '../support/until.ts';
import { complaintsOf, findBrowser, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { openAnother, picture, useConsole } from './support.ts';

const WALLBOX = `blueprint_spec: device/3.0
display_name: Wallbox
icon: ev-station
runtime: { type: embedded }
telemetry:
  charge_power: { display_name: Charging Power, type: float, unit: W, auto_scale: [kW] }
  current_limit: { display_name: Current Limit, type: float, unit: A }
  charging_enabled: { display_name: Charging Allowed, type: boolean }
command_groups: { control: { display_name: Control } }
commands:
  set_charging:
    display_name: Release Charging
    group: control
    access_level: user
    ui: { quick_access: true }
    arguments: { enabled: { display_name: Enabled, type: boolean, required: true } }
  set_current_limit:
    display_name: Set Current Limit
    group: control
    access_level: user
    ui: { quick_access: true }
    arguments: { current: { display_name: Current (A), type: integer, min: 6, max: 32, required: true } }
  stop_charging:
    display_name: Stop Charging
    group: control
    access_level: user
    ui: { quick_access: true }
    confirmation: { severity: warning, title: Stop charging now? }
  restart:
    display_name: Restart
    group: control
    access_level: user
`;

describe('daily use', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();
  let device: MockDevice;
  const uploaded: string[] = [];

  const upload = async (): Promise<string> => {
    const zip = await writeArchive(new Map([['manifest.yml', Buffer.from(WALLBOX)]]));
    const { id } = await opened().gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    uploaded.push(String(id));
    return String(id);
  };

  test('commands for daily use are controls that send the value they are set to', async () => {
    const { gateway, page } = opened();
    device = await gateway.provision('Wallbox yard');
    const address = `/v3/devices/${device.id}/assign_blueprint`;
    await gateway.ok('OWNER', 'POST', address, { blueprint_id: await upload() });
    await device.connect();
    device.obey();
    await device.telemetry({ charge_power: 3_600, current_limit: 16, charging_enabled: false });
    await visit(page, '#/');
    const card = page.locator('[data-test=quick-controls]');
    const release = card.getByRole('switch', { name: 'Release Charging' });
    await release.waitFor();
    assert.equal(await release.getAttribute('aria-checked'), 'false');
    assert.equal(await card.getByText('Restart').count(), 0);
    await release.click();
    await until(() => device.requests.length === 1);
    assert.deepEqual(device.requests[0]?.arguments, { enabled: true });
    // What the device reports counts, not what was wanted.
    await device.telemetry({ charging_enabled: true });
    await card.locator('[role=switch][aria-checked=true]').waitFor();
    await picture(page, 'overview-controls');
  });

  test('a slider sends once, when it is released', async () => {
    const { page } = opened();
    device.requests.length = 0;
    const slider = page.getByRole('slider', { name: 'Set Current Limit' });
    assert.equal(await slider.inputValue(), '16');
    await slider.focus();
    for (let press = 0; press < 4; press++) await page.keyboard.press('ArrowLeft');
    await until(() => device.requests.length === 1);
    assert.deepEqual(device.requests[0]?.arguments, { current: 12 });
  });

  test('a command that has to be confirmed asks first', async () => {
    const { page } = opened();
    device.requests.length = 0;
    await page.getByRole('button', { name: 'Stop Charging…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Stop charging now?' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.equal(device.requests.length, 0);
    await page.getByRole('button', { name: 'Stop Charging…' }).click();
    await dialog.getByRole('button', { name: 'Stop Charging' }).click();
    await until(() => device.requests.some(({ name }) => name === 'stop_charging'));
  });

  test('devices stand by their role, each with its main value', async () => {
    const { page } = opened();
    const row = page.locator('[data-device=wallbox-yard]');
    assert.equal(await row.locator('.first-value .value').innerText(), '3.60 kW');
  });

  test('the page of a device shows its main value, its day and its controls, apart from its settings', async () => {
    const { page } = opened();
    await visit(page, '#/devices/wallbox-yard/values');
    const hero = page.locator('.hero.ev_charger');
    assert.equal(await hero.locator('.first .value').innerText(), '3.60 kW');
    assert.equal(await hero.locator('.day').getAttribute('href'), `#/history/day/${device.id}.charge_power`);
    await page.getByRole('switch', { name: 'Release Charging' }).waitFor();
    assert.deepEqual(await page.locator('.tabs .apart').allInnerTexts(), ['Documents', 'Settings']);
    await picture(page, 'device');
  });

  test('cards of values are at most 420 px wide, so that names and values stay together', async (t) => {
    const { page } = opened();
    const before = page.viewportSize();
    t.after(() => before && page.setViewportSize(before));
    for (const width of [390, 820, 1_440, 2_560]) {
      await page.setViewportSize({ width, height: 900 });
      const widths = (await page.evaluate(
        "[...document.querySelectorAll('.value-groups > .card')].map((one) => one.getBoundingClientRect().width)",
      )) as number[];
      assert.ok(widths.length > 0 && widths.every((each) => each <= 420), `${width}: ${widths.join()}`);
    }
  });

  test('each tab of a device has a title of its own, and an address without a valid tab is corrected', async () => {
    const { page } = opened();
    await visit(page, '#/devices/wallbox-yard/chart');
    await until(async () => (await page.title()).startsWith('Wallbox yard – Chart · '));
    await visit(page, '#/devices/wallbox-yard/logs');
    await until(async () => (await page.title()).startsWith('Wallbox yard – Logs · '));
    for (const [wrong, right] of [
      ['#/devices/wallbox-yard/nothing', '#/devices/wallbox-yard/values'],
      ['#/system/nothing', '#/system'],
      ['#/alerts/nothing', '#/alerts'],
    ] as const) {
      await page.evaluate(`location.hash = ${JSON.stringify(wrong)}`);
      await until(async () => (await page.evaluate('location.hash')) === right);
    }
  });

  test('a chart of a calendar day fits a page of 900 px on a phone, and the full screen', async (t) => {
    const { page } = opened();
    const before = page.viewportSize();
    t.after(() => before && page.setViewportSize(before));
    await page.setViewportSize({ width: 390, height: 844 });
    const series = ['charge_power', 'current_limit', 'charging_enabled'].map(
      (name) => `${device.id}.${name}`,
    );
    await visit(page, '#/');
    await visit(page, `#/history/day/${series.join('~')}`);
    await page.locator('[data-test=chart] canvas').waitFor();
    const height = Number(await page.evaluate('document.documentElement.scrollHeight'));
    assert.ok(height <= 900, `${height} px`);
    await page.getByRole('button', { name: 'Earlier' }).click();
    await until(async () => /#\/history\/\d{4}-\d\d-\d\d\//.test(page.url()));
    await page.getByRole('button', { name: 'Later' }).click();
    await until(async () => page.url().includes('#/history/day/'));
    await page.locator('[data-test=chart] canvas').waitFor();
    await page.getByRole('button', { name: 'Full screen' }).click();
    const chart = page.locator('.chart-page.full canvas');
    await until(async () => ((await chart.boundingBox())?.height ?? 0) > 400);
    await page.getByRole('button', { name: 'Leave full screen' }).click();
    await page.locator('.chart-page:not(.full)').waitFor();
  });

  test('a chip hides a line or removes it, and the cursor shows values', async () => {
    const { page } = opened();
    const series = ['charge_power', 'current_limit'].map((name) => `${device.id}.${name}`).join('~');
    await visit(page, `#/history/hour/${series}`);
    const chip = page.locator('.series-chip[data-name="Charging Power"]');
    await chip.locator('.now', { hasText: '3.60 kW' }).waitFor();
    await chip.getByRole('button', { name: /^Charging Power/ }).click();
    await chip.locator('[aria-pressed=false]').waitFor();
    await page.getByRole('group', { name: /arrow keys/ }).focus();
    await page.keyboard.press('End');
    const card = page.locator('.value-card');
    await card.getByText('Current Limit').waitFor();
    assert.equal(await card.getByText('Charging Power').count(), 0, 'what is hidden is not told');
    await page.keyboard.press('Escape');
    await card.waitFor({ state: 'detached' });
    await page.locator('.figures').getByRole('rowheader', { name: 'Current Limit' }).waitFor();
    await picture(page, 'history-chips');
    await chip.getByRole('button', { name: 'Remove Wallbox yard · Charging Power' }).click();
    await chip.waitFor({ state: 'detached' });
    assert.match(page.url(), /hour\/[^~]+\.current_limit$/);
  });

  test('equal blueprints are told apart, their content is shown, and unused ones are deleted', async () => {
    const { page } = opened();
    await upload();
    await visit(page, '#/blueprints');
    const [first, second] = uploaded.map((id) => page.locator(`[data-blueprint="${id}"]`));
    await first?.getByText(/^Version 1 · .* · used by 1 device$/).waitFor();
    await second?.getByText(/^Version 2 · .* · not in use$/).waitFor();
    assert.equal(await first?.getByRole('button', { name: /^Delete/ }).count(), 0);
    await second?.getByRole('button', { name: /^Show/ }).click();
    await page.getByRole('dialog').getByText('display_name: Release Charging').waitFor();
    await page.keyboard.press('Escape');
    await second?.getByRole('button', { name: /^Delete/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await second?.waitFor({ state: 'detached' });
  });

  test('a file dropped beside the drop area is taken, and the page stays', async () => {
    const { page } = opened();
    const drop = (selector: string): Promise<unknown> =>
      page.evaluate(`(() => {
        const files = new DataTransfer();
        files.items.add(new File(['no zip'], 'beside.zip', { type: 'application/zip' }));
        const event = new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: files });
        document.querySelector(${JSON.stringify(selector)}).dispatchEvent(event);
        return event.defaultPrevented;
      })()`);
    assert.equal(await drop('h1'), true);
    await page.locator('.drop').getByText('beside.zip').waitFor();
    await visit(page, '#/alerts');
    assert.equal(await drop('h1'), true);
  });

  test('a login and the deletion of a device log no error in the browser', async (t) => {
    let complaints: string[] = [];
    const page = await openAnother(t, opened(), {
      prepare: (one) => {
        complaints = complaintsOf(one);
        return Promise.resolve();
      },
    });
    await device.leave();
    await visit(page, '#/devices/wallbox-yard/settings');
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No devices yet').waitFor();
    await page.waitForLoadState('networkidle');
    // The tests keep it away, so that requests can be held.
    const own = complaints.filter((text) => !text.startsWith('Service Worker registration'));
    assert.deepEqual(own, []);
  });
});
