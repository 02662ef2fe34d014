/** The table of many devices: the way to those that are offline, and names of any script. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { PASSWORD, useConsole } from './support.ts';

const METERS = 20;
const FROM_RIGHT_TO_LEFT = 'مضخة المياه الرئيسية في القبو القديم خلف المبنى الكبير';

describe('the table of devices', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  before(async () => {
    const names = Array.from({ length: METERS }, (_, index) => `Meter ${index}`);
    for (const name of [...names, FROM_RIGHT_TO_LEFT])
      await opened().gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', { name });
  });

  test('the number of offline devices leads to their table', async () => {
    const { page } = opened();
    await visit(page, '#/');
    await page.getByRole('link', { name: `${METERS + 1} devices are offline` }).click();
    await until(async () => (await page.getByLabel('Status').inputValue()) === 'OFFLINE');
    const topPx = await page.evaluate(`document.querySelector('.devices').getBoundingClientRect().top`);
    assert.ok(Number(topPx) < 1, `${Number(topPx)} pixels below the top`);
    await page.getByLabel('Status').selectOption('');
  });

  test('the table shows the beginning of a long name written from right to left', async () => {
    const { page } = opened();
    await visit(page, '#/');
    await page.getByLabel('Find a device').fill('مضخة');
    await until(async () => (await page.locator('.device-table tbody a').count()) === 1);
    const isSeen = await page.evaluate(`(() => {
      const { firstChild: name, parentElement: cell } = document.querySelector('.device-table tbody a');
      const first = document.createRange();
      first.setStart(name, 0);
      first.setEnd(name, 1);
      return first.getBoundingClientRect().right <= cell.getBoundingClientRect().right;
    })()`);
    assert.equal(isSeen, true);
  });

  for (const [width, hasTouch, rowPx] of [
    [390, true, 48],
    [1_440, false, 36],
    [1_440, true, 48],
  ] as const)
    test(`the table shows whole values in ${rowPx} px rows at ${width} px ${hasTouch ? 'for a finger' : 'with a mouse'}`, async (t) => {
      const { browser, gateway } = opened();
      const device = await gateway.provision(`Battery ${width} ${hasTouch ? 'finger' : 'mouse'}`);
      t.after(() => device.leave());
      await device.connect();
      await device.telemetry({ battery_soc: 64, grid_total_power: -12_345, alerts: ['battery_low'] });
      const context = await browser.newContext({
        viewport: { width, height: 844 },
        hasTouch,
        serviceWorkers: 'block',
      });
      t.after(() => context.close());
      const page = await context.newPage();
      await page.goto(gateway.origin);
      await page.fill('[name=name]', 'installer');
      await page.fill('[name=password]', PASSWORD);
      await page.keyboard.press('Enter');
      const row = page.locator(`[data-device=${device.slug}]`);
      await row.locator('.value b', { hasText: '64' }).waitFor();
      const { rowHeightPx, cutPx, rightPx, digits } = (await page.evaluate(`((row) => {
        const cell = row.querySelector('td.values');
        const value = [...row.querySelectorAll('.value')].filter((one) => one.offsetWidth > 0).at(-1);
        return {
          rowHeightPx: row.offsetHeight,
          cutPx: cell.scrollWidth - cell.clientWidth,
          rightPx: row.getBoundingClientRect().right - value.getBoundingClientRect().right,
          digits: getComputedStyle(value).fontVariantNumeric,
        };
      })(document.querySelector('[data-device=${device.slug}]'))`)) as {
        rowHeightPx: number;
        cutPx: number;
        rightPx: number;
        digits: string;
      };
      assert.equal(rowHeightPx, rowPx);
      assert.ok(cutPx <= 0, `${cutPx} px are cut`);
      assert.ok(rightPx < 20, `${rightPx} px from the right`);
      assert.equal(digits, 'tabular-nums');
    });
});
