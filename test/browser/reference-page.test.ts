/** The reference page in a real browser, as the whole gateway serves it: found, filtered, copied, on a phone. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { complaintsOf, enterBrowser, findBrowser, leaveBrowser, NO_BROWSER } from './browser.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { referenceFolder } from '../support/reference.ts';
import { until } from '../support/until.ts';

const executable = findBrowser();

describe('the reference page in a browser', { skip: executable === undefined && NO_BROWSER }, () => {
  const ends: (() => unknown)[] = [];
  let gateway: TestGateway;
  let browser: Browser;
  let page: Page;
  let complaints: string[];

  before(async () => {
    const test = { after: (end: () => unknown) => void ends.push(end) };
    gateway = await startTestGateway(test, { consoleDir: await referenceFolder(test) });
    browser = await enterBrowser();
    page = await browser.newPage({
      viewport: { width: 1_280, height: 800 },
      extraHTTPHeaders: { 'X-Service-Auth-Token': gateway.token('READONLY') },
    });
    page.setDefaultTimeout(10_000);
    complaints = complaintsOf(page);
    await page.goto(`${gateway.origin}/docs`);
  });

  after(async () => {
    await leaveBrowser();
    for (const end of ends.toReversed()) await end();
  });

  const shown = (): Promise<string[]> =>
    page.evaluate("[...document.querySelectorAll('section:not([hidden])')].map(({ id }) => id)");

  test('the reference page shows every operation in its menu and as a section', async () => {
    const operations = new Set(gateway.gateway.operations().routes.map(({ operation }) => operation));
    const ids = new Set(await shown());
    for (const operation of operations) {
      assert.ok(ids.has(operation), operation);
      assert.equal(await page.locator(`nav a[href="#${operation}"]`).count(), 1, operation);
    }
  });

  test('the reference page filters by words of name, path, method, role and chapter', async () => {
    await page.keyboard.press('/');
    await page.keyboard.type('patch device_id OWNER');
    await until(async () => (await shown()).join() === 'update_device');
    assert.match((await page.textContent('#count')) ?? '', /^1 of \d+$/);
    assert.equal(await page.locator('nav li:visible').count(), 1);
    await page.fill('#search', 'no such thing');
    assert.equal(await page.textContent('#count'), 'nothing fits');
    await page.press('#search', 'Escape');
    await until(async () => (await shown()).length > 50);
  });

  test('a link leads to a section that the filter had hidden', async () => {
    await page.fill('#search', 'rule');
    await page.evaluate("location.hash = 'get_site'");
    await page.locator('#get_site').waitFor({ state: 'visible' });
    await until(async () => (await page.inputValue('#search')) === '');
  });

  test('a request is copied from the reference page', async () => {
    const figure = page.locator('#update_site figure').first();
    const text = (await figure.locator('pre').textContent()) ?? '';
    assert.match(text, /^curl -s -X PATCH "\$GATEWAY\/v3\/site"/);
    await figure.locator('button').click();
    await until(async () => /^(Copied|Selected)$/.test((await figure.locator('button').textContent()) ?? ''));
  });

  test('the reference page fits a phone, with the menu on demand', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    const width: number = await page.evaluate('document.documentElement.scrollWidth');
    assert.equal(width, 390);
    assert.equal(await page.locator('nav').isVisible(), false);
    await page.locator('label[for=menu]').click();
    await page.locator('nav a[href="#get_device"]').click();
    // The page learns the new address after the click.
    await page.locator('nav').waitFor({ state: 'hidden' });
    assert.equal(await page.locator('#get_device').isVisible(), true);
  });

  test('the reference page works without scripts', async () => {
    const plain = await browser.newContext({
      javaScriptEnabled: false,
      extraHTTPHeaders: { 'X-Service-Auth-Token': gateway.token('READONLY') },
    });
    const bare = await plain.newPage();
    await bare.goto(`${gateway.origin}/docs#get_device`);
    assert.equal(await bare.locator('#get_device').isVisible(), true);
    assert.equal(await bare.locator('#search').isVisible(), false);
    await plain.close();
  });

  test('the reference page breaks no rule of its content security policy', () => {
    assert.deepEqual(complaints, []);
  });
});
