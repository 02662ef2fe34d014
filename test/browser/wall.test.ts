/** The display on a wall: a tablet that shows the site for years, at which nobody logs in. */
import assert from 'node:assert/strict';
import { before, describe, test, type TestContext } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { PASSWORD, useConsole } from './support.ts';

const SCREENS = [
  { width: 1_024, height: 768 },
  { width: 800, height: 480 },
  { width: 1_920, height: 1_080 },
];

/** What is outside of the screen or of its place, or under the bar below. */
const OUTSIDE = `(() => {
  const bar = document.querySelector('.wall footer').getBoundingClientRect();
  const all = [...document.querySelectorAll('.wall :is(h2, p, b, dt, dd, svg, a, button, label)')];
  return all.filter((one) => one.getBoundingClientRect().width > 1 && !one.closest('.hidden, .land')).filter((one) => {
    const { left, top, right, bottom } = one.getBoundingClientRect();
    const place = (one.closest('.card, footer') ?? one).getBoundingClientRect();
    return left < place.left || right > place.right + 1 || top < 0 || bottom > (one.closest('footer') ? innerHeight : bar.top) || bottom > place.bottom + 1;
  }).map((one) => one.tagName + ' ' + one.textContent.slice(0, 24));
})()`;

describe('the wall display', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();
  let link = '';

  before(async () => {
    const { gateway } = opened();
    const house = await gateway.provision('House');
    await house.connect();
    const sun = { pv_total_power: 4_200, battery_power: -3_000, battery_soc: 62 };
    await house.telemetry({ ...sun, grid_total_power: -300, load_total_power: 900, alerts: ['battery_low'] });
    await gateway.ok('OWNER', 'PATCH', '/v3/site/energy/tariffs', {
      currency: 'EUR',
      items: [{ valid_from: '2020-01-01', import_price: { kind: 'FIXED', price: 0.3 }, export_price: null }],
    });
    link = await newLink('Hall');
  });

  async function newLink(name: string): Promise<string> {
    const { gateway } = opened();
    const { token } = await gateway.ok('OWNER', 'POST', '/v3/auth/tokens', { name, role: 'READONLY' });
    return `${gateway.origin}/#/wall/${String(token)}`;
  }

  async function newTablet(t: TestContext): Promise<{ context: BrowserContext; page: Page }> {
    const context = await opened().browser.newContext({
      viewport: { width: 1_024, height: 768 },
      serviceWorkers: 'block',
      reducedMotion: 'reduce',
    });
    t.after(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    return { context, page };
  }

  const isShown = (page: Page): Promise<void> =>
    page.locator('.wall .flow-node.battery:not(.unknown)').waitFor();

  test('the wall display asks for a login where its link has no token, a wrong one or a revoked one', async (t) => {
    const { gateway } = opened();
    const revoked = await newLink('Old');
    const { access_tokens: tokens } = await gateway.ok('OWNER', 'GET', '/v3/auth/tokens');
    const old = (tokens as { id: string; name: string }[]).find(({ name }) => name === 'Old');
    await gateway.ok('OWNER', 'DELETE', `/v3/auth/tokens/${old?.id}`);
    const { page } = await newTablet(t);
    for (const address of [`${gateway.origin}/#/wall`, `${gateway.origin}/#/wall/made-up`, revoked]) {
      await page.goto('about:blank');
      await page.goto(address);
      await page.locator('[name=password]').waitFor();
    }
  });

  test('the wall display opens by its link alone, reads only, and comes back after its cookie and a login are gone', async (t) => {
    const { gateway } = opened();
    const { context, page } = await newTablet(t);
    await page.goto(link);
    await isShown(page);
    await page.getByText('Battery Low').waitFor();
    const refused = await page.evaluate(
      `fetch('/v3/site', { method: 'PATCH', headers: { 'Content-Type': 'application/json', 'X-Requested-With': 'a' }, body: '{}' }).then(({ status }) => status)`,
    );
    assert.equal(refused, 403);
    await context.clearCookies();
    await page.reload();
    await isShown(page);
    // A login that ends leaves a cookie that no script can replace.
    await context.clearCookies();
    const login = await page.request.post(`${gateway.origin}/v3/auth/login`, {
      data: { name: 'installer', password: PASSWORD },
    });
    const { token } = (await login.json()) as { token: string };
    await page.reload();
    await isShown(page);
    await gateway.ok({ token }, 'POST', '/v3/auth/logout');
    // Its stream has ended with the login.
    await until(async () => {
      const { name } = (await page.evaluate(
        `fetch('/v3/auth/me').then((answer) => answer.json()).then(({ me }) => me ?? {})`,
      )) as {
        name?: string;
      };
      return name === 'Hall';
    });
    await isShown(page);
  });

  test('the wall display leaves a login as it is, whatever token the link has', async (t) => {
    const { gateway } = opened();
    const { page } = await newTablet(t);
    await page.goto(gateway.origin);
    await page.fill('[name=name]', 'installer');
    await page.fill('[name=password]', PASSWORD);
    await page.keyboard.press('Enter');
    await page.locator('.nav').waitFor();
    await page.goto('about:blank');
    await page.goto(link);
    await isShown(page);
    await page.keyboard.press('Escape');
    await page.locator('.nav .who b', { hasText: 'installer' }).waitFor();
  });

  test('the wall display fills one screen without a menu, and the keyboard leaves it', async (t) => {
    const { page } = await newTablet(t);
    await page.goto(link);
    await isShown(page);
    await page.getByText('Battery Low').waitFor();
    for (const language of ['de', 'en']) {
      await page.evaluate(`localStorage.setItem('language', '${language}')`);
      await page.reload();
      await isShown(page);
      await page.locator('.wall .books-numbers > :nth-child(5)').waitFor();
      await page.locator('.wall-attention a').waitFor();
      for (const screen of SCREENS) {
        await page.setViewportSize(screen);
        assert.equal(await page.locator('.nav').count(), 0);
        assert.deepEqual(
          await page.evaluate(OUTSIDE),
          [],
          `${language}, ${screen.width} by ${screen.height}`,
        );
      }
    }
    await page.getByRole('button', { name: 'Full screen' }).click();
    await page.getByRole('button', { name: 'Leave full screen' }).click();
    await page.getByRole('button', { name: 'Full screen', exact: true }).waitFor();
    // The browser takes Escape for itself until then.
    await until(async () => (await page.evaluate('document.fullscreenElement')) === null);
    await page.keyboard.press('Escape');
    await page.locator('.nav').waitFor();
    await page.getByRole('link', { name: 'Wall display' }).click();
    await isShown(page);
    await page.keyboard.press('Tab');
    await page.getByRole('link', { name: 'Leave' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('.nav').waitFor();
  });

  test('the wall display is dark at night only where that was chosen', async (t) => {
    const { gateway } = opened();
    const { page } = await newTablet(t);
    /** A zone in which it is this hour now. */
    const zoneAt = (hour: number): string => {
      const east = ((hour - new Date().getUTCHours() + 36) % 24) - 12;
      return `Etc/GMT${east > 0 ? '-' : '+'}${Math.abs(east)}`;
    };
    const set = (timezone: string): Promise<unknown> =>
      gateway.ok('OWNER', 'PATCH', '/v3/site', { timezone });
    const dark = page.locator('.wall.dark');
    await set(zoneAt(0));
    await page.goto(link);
    await isShown(page);
    assert.equal(await dark.count(), 0);
    await page.getByLabel('Dark 22:00–06:00').check();
    await dark.waitFor();
    await page.reload();
    await dark.waitFor();
    await set(zoneAt(12));
    await page.reload();
    await isShown(page);
    assert.equal(await dark.count(), 0);
  });

  test('the link of the wall display is offered with a new token that may only read', async () => {
    const { page } = opened();
    await page.evaluate(`location.hash = '#/access'`);
    for (const [role, links] of [
      ['USER', 0],
      ['READONLY', 1],
    ] as const) {
      await page.getByRole('button', { name: 'New token…' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill(`Tablet ${role}`);
      await page.getByRole('dialog').getByLabel('Role').selectOption(role);
      await page.getByRole('button', { name: 'Create token' }).click();
      await page.getByText('Copy the token now.').waitFor();
      assert.equal(await page.locator('.code', { hasText: '/#/wall/' }).count(), links);
      await page.getByRole('button', { name: 'Close' }).click();
    }
  });
});
