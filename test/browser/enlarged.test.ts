/** The console where little of it fits the screen: enlarged, with larger letters, or on a phone that shows its keyboard. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { PAGES, visit } from './pages.ts';
import { claim, openAnother, picture, useNewConsole } from './support.ts';

/** A screen of 1280 by 1024 pixels that is enlarged to 400 % (WCAG 2.2, 1.4.10). */
const ENLARGED = { width: 320, height: 256 };
const PHONE = { width: 390, height: 844 };
/** As a browser does whose user has chosen letters twice as large as usual. */
const TWICE = "document.documentElement.style.fontSize = '200%'";
/** What may be wider scrolls by itself. */
const OVER_PX = 'document.documentElement.scrollWidth - innerWidth';

async function tooWide(page: Page, look: string): Promise<string[]> {
  const found: string[] = [];
  for (const hash of PAGES) {
    await visit(page, hash);
    const overPx = Number(await page.evaluate(OVER_PX));
    if (overPx > 0) found.push(`${hash} is ${overPx} pixels too wide, ${look}`);
    await picture(page, `enlarged${hash.replaceAll(/\W+/g, '-')}`);
  }
  return found;
}

const sizesOf = (page: Page): Promise<number[]> =>
  page.evaluate(`['h1', 'h2', '.field .label', '.hint', 'input', '.button'].map((part) =>
    parseFloat(getComputedStyle(document.querySelector('main').querySelector(part)).fontSize))`);

describe('an enlarged console', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useNewConsole();

  test('the page begins at its top after the claim, wherever the button was', async () => {
    const { page } = opened();
    await page.setViewportSize(ENLARGED);
    await claim(opened());
    assert.equal(await page.evaluate('scrollY'), 0);
  });

  test("the enlarged console needs scrolling down only, and all of its text grows with the browser's", async (t) => {
    const { gateway } = opened();
    const device = await gateway.provision('Battery');
    await device.connect();
    t.after(() => device.leave());
    await gateway.ok('OWNER', 'POST', '/v3/notification_channels', {
      name: 'Telefon',
      kind: 'NTFY',
      minimum_severity: 'info',
      ntfy: { topic: 'halle-4711', server: 'http://127.0.0.1:9' },
    });
    await device.telemetry({ battery_soc: 50, grid_total_power: -1_234.5, alerts: ['battery_low'] });
    await gateway.ok('OWNER', 'POST', '/v3/site/rule_engine/rules', {
      slug: 'greeting',
      script: { code: Buffer.from('-- hello').toString('base64'), runtime_version: 'V3' },
    });
    const page = await openAnother(t, opened(), {
      prepare: (other) => other.addInitScript("localStorage.setItem('language', 'de')"),
    });
    await visit(page, '#/alerts/notifications');
    await page.getByText('wird erneut versucht').first().waitFor();
    await page.setViewportSize(ENLARGED);
    const found = await tooWide(page, 'enlarged to 400 %');
    await page.setViewportSize(PHONE);
    await visit(page, '#/site');
    const sizes = await sizesOf(page);
    await page.evaluate(TWICE);
    assert.deepEqual(
      await sizesOf(page),
      sizes.map((sizePx) => 2 * sizePx),
    );
    found.push(...(await tooWide(page, 'with large letters')));
    assert.deepEqual(found, []);
  });

  test('the enlarged table of many devices shows as many rows as there are', async (t) => {
    const page = await openAnother(t, opened());
    for (let number = 0; number < 60; number++)
      await opened().gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', { name: `Row ${number}` });
    await page.reload();
    await page.evaluate(TWICE);
    await visit(page, '#/rules');
    await visit(page, '#/');
    const rows = page.locator('.device-table tbody tr[data-device]');
    await rows.first().waitFor();
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await page.locator('[data-device=row-59]').waitFor();
    // The rows that are not drawn take as much room as they would.
    const bottomPx = (): Promise<number> =>
      page.evaluate("document.querySelector('.device-table').getBoundingClientRect().bottom + scrollY");
    const atEndPx = await bottomPx();
    await page.evaluate('scrollTo(0, 0)');
    await until(async () => (await page.locator('[data-device=row-59]').count()) === 0);
    assert.ok(Math.abs((await bottomPx()) - atEndPx) < 4, `${await bottomPx()} and ${atEndPx}`);
  });

  test('the enlarged menu scrolls on a screen that is wide and low', async (t) => {
    const page = await openAnother(t, opened());
    await page.setViewportSize({ width: 960, height: 400 });
    await visit(page, '#/access');
    const logOut = page.getByRole('button', { name: 'Log out' });
    await logOut.scrollIntoViewIfNeeded();
    const { y = Infinity, height = 0 } = (await logOut.boundingBox()) ?? {};
    assert.ok(y >= 0 && y + height <= 400, `it lies at ${y}`);
    assert.equal(await page.evaluate('scrollY'), 0, 'the page stays where it is');
    await logOut.click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
  });
});
