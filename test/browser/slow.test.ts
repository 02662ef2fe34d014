/** Networks that are slow or lose questions: what is not known yet is not said to be nothing, and nobody waits for ever. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { liveLine } from './live-line.ts';
import { PAGES } from './pages.ts';
import { openAnother, useConsole } from './support.ts';

const STEP_MS = 5_000;
const ANSWER_MAX_MS = 60_000;
/** What stands where nothing is. */
const NOTHING_THERE = /^(None|Nothing|No )/;

const open = (page: Page, hash: string): Promise<unknown> =>
  page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

describe('a slow network', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_RULE_SANDBOX: 'true' });

  test('every page shows that it is loading, and no empty list before it was read', async (t) => {
    const { gateway } = opened();
    const device = await gateway.provision('Battery');
    await device.connect();
    await device.telemetry({ battery_soc: 50, grid_total_power: -300 });
    await gateway.ok('OWNER', 'POST', '/v3/site/rule_engine/rules', {
      slug: 'greeting',
      script: { code: Buffer.from('-- hello').toString('base64'), runtime_version: 'V3' },
    });
    const page = await openAnother(t, opened());
    await page.locator('[data-device=battery] .value').first().waitFor();
    const wrong: string[] = [];
    let held = 0;
    let answered = Promise.resolve();
    await page.route(/\/(v3|healthz|readyz)/, async (route) => {
      held++;
      await answered;
      await route.continue();
    });
    for (const hash of PAGES) {
      await open(page, '#/nowhere');
      await page.getByText('Page not found').waitFor();
      const { promise, resolve: answer } = Promise.withResolvers<void>();
      answered = promise;
      held = 0;
      await open(page, hash);
      await page.getByText('Page not found').waitFor({ state: 'detached' });
      await page.locator('h1').first().waitFor();
      await page.evaluate(
        'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))',
      );
      const said = await page.locator('main .empty .title, main p.hint').allInnerTexts();
      for (const text of said) if (NOTHING_THERE.test(text)) wrong.push(`${hash} says ${text}`);
      if (held > 0 && (await page.locator('main .loading').count()) === 0)
        wrong.push(`${hash} does not say that it is loading`);
      answer();
    }
    await device.leave();
    assert.deepEqual(wrong, []);
  });

  test('a lost request is given up after a minute; reads are repeated, changes only by hand', async (t) => {
    const { gateway } = opened();
    const line = liveLine();
    const page = await openAnother(t, opened(), {
      prepare: async (one) => {
        await one.clock.install();
        await line.lay(one);
      },
    });
    const { devices } = await gateway.ok('OWNER', 'GET', '/v3/devices');
    const own = (devices as { id: string; type: string }[]).find(({ type }) => type === 'GATEWAY');
    let reads = 0;
    let changes = 0;
    const givenUp: string[] = [];
    page.on('requestfailed', (request) => givenUp.push(new URL(request.url()).pathname));
    await page.route('**/v3/auth/users', (route) => (reads++ === 0 ? undefined : route.continue()));
    await page.route('**/v3/auth/tokens', (route) =>
      route.request().method() === 'POST' ? void changes++ : route.continue(),
    );
    await open(page, '#/access');
    await until(() => reads === 1);
    await page.getByRole('button', { name: 'New token…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('[name=name]').fill('dashboard');
    await dialog.getByRole('button', { name: 'Create token' }).dblclick();
    await until(() => changes === 1);
    // The line lives all the time.
    for (let atMs = 0; atMs < ANSWER_MAX_MS; atMs += STEP_MS) {
      await page.clock.runFor(STEP_MS);
      const receivedAt = new Date(Number(await page.evaluate('Date.now()'))).toISOString();
      line.say({ device_id: own?.id, received_at: receivedAt, properties: { heard: atMs } });
      await page.evaluate('new Promise((heard) => requestIdleCallback(heard, { timeout: 1 }))');
    }
    await dialog.getByRole('alert').getByText('It is not known whether this was done').waitFor();
    assert.equal(await page.getByText('No live connection').count(), 0);
    assert.equal(await dialog.locator('[name=name]').inputValue(), 'dashboard');
    await page.clock.runFor(STEP_MS + 1);
    await until(() => reads > 1 && givenUp.includes('/v3/auth/users'));
    assert.equal(changes, 1);
    await page.unroute('**/v3/auth/tokens');
    await dialog.getByRole('button', { name: 'Create token' }).click();
    await dialog.getByText('Copy the token now').waitFor();
  });

  test('a read that the gateway could not answer is repeated', async (t) => {
    const page = await openAnother(t, opened(), { prepare: (one) => one.clock.install() });
    let asked = 0;
    await page.route('**/v3/blueprints', (route) =>
      asked++ === 0
        ? route.fulfill({ status: 503, json: { errors: [{ code: 'unavailable', message: 'Not now.' }] } })
        : route.continue(),
    );
    await open(page, '#/blueprints');
    await page.getByRole('alert').getByText('Not now.').waitFor();
    await page.clock.runFor(STEP_MS + 1);
    await page.getByRole('heading', { name: 'Built-in' }).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
  });

  test('results of another filter are not shown as those of the present one', async (t) => {
    const { gateway } = opened();
    const device = await gateway.provision('Alarmed');
    await device.connect();
    await device.telemetry({ alerts: ['battery_low'] });
    const page = await openAnother(t, opened());
    await open(page, '#/alerts');
    const list = page.locator('[data-test=alerts]');
    await list.getByText('Battery Low').waitFor();
    const held = Promise.withResolvers<void>();
    await page.route(/\/v3\/alerts\?.*severity=error/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.locator('[name=severity]').selectOption('error');
    await page.locator('[aria-busy=true]', { has: list }).getByText('Loading…').waitFor();
    held.resolve();
    await page.getByText('No active alerts').waitFor();
    assert.equal(await page.locator('[aria-busy=true]').count(), 0);
    await device.telemetry({ alerts: [] });
    await device.leave();
  });
});
