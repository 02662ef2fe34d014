/** The table of many devices: the way to those that are offline, and names of any script. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { useConsole } from './support.ts';

const METERS = 20;
const FROM_RIGHT_TO_LEFT = 'مضخة المياه الرئيسية في القبو القديم خلف المبنى الكبير';

describe('the table of devices', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  before(async () => {
    const names = Array.from({ length: METERS }, (_, index) => `Meter ${index}`);
    for (const name of [...names, FROM_RIGHT_TO_LEFT])
      await opened().gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', { name });
  });

  test('is where the number of offline devices leads', async () => {
    const { page } = opened();
    await visit(page, '#/');
    await page.getByRole('link', { name: `${METERS + 1} devices are offline` }).click();
    await until(async () => (await page.getByLabel('Status').inputValue()) === 'OFFLINE');
    const topPx = await page.evaluate(`document.querySelector('.devices').getBoundingClientRect().top`);
    assert.ok(Number(topPx) < 1, `${Number(topPx)} pixels below the top`);
    await page.getByLabel('Status').selectOption('');
  });

  test('shows the beginning of a long name that is read from right to left', async () => {
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
});
