/** What somebody does while the line to the gateway is lost, another page does the same, or another version is installed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { liveLine } from './live-line.ts';
import { openAnother, PASSWORD, useConsole } from './support.ts';

const TENANT = { name: 'tenant', password: 'a password of theirs' };
const LODGER = { name: 'lodger', password: 'another password' };
/** More than a page of the API has. */
const CHANGES = 1_010;
const AT_ONCE = 50;

const open = (page: Page, hash: string): Promise<unknown> =>
  page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

async function logIn(page: Page, { name, password }: typeof TENANT): Promise<void> {
  await page.fill('[name=name]', name);
  await page.fill('[name=password]', password);
  await page.keyboard.press('Enter');
}

const focused = async (page: Page): Promise<string> =>
  String(await page.evaluate('`${document.activeElement?.tagName} ${document.activeElement?.textContent}`'));

describe('a line that is lost', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  test('a lost connection leaves no button waiting for ever, and says that the change may have been made', async (t) => {
    const line = liveLine();
    const page = await openAnother(t, opened(), { prepare: line.lay });
    const asked = Promise.withResolvers<void>();
    await page.route('**/v3/auth/tokens', (route) =>
      // Without an answer to this one it waits for ever.
      route.request().method() === 'POST' ? asked.resolve() : route.continue(),
    );
    await open(page, '#/access');
    await page.getByRole('button', { name: 'New token…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('[name=name]').fill('dashboard');
    const make = dialog.getByRole('button', { name: 'Create token' });
    await make.click();
    await asked.promise;
    assert.equal(await make.isDisabled(), true);
    assert.equal(await make.getAttribute('aria-busy'), 'true');
    await line.cut(page);
    await line.mend(page);
    await dialog.getByRole('alert').getByText('It is not known whether this was done').waitFor();
    await page.unroute('**/v3/auth/tokens');
    assert.equal(await dialog.locator('[name=name]').inputValue(), 'dashboard');
    await make.click();
    await dialog.getByText('Copy the token now').waitFor();
  });

  test('a lost connection leaves no page loading: it is read when the connection is back', async (t) => {
    const line = liveLine();
    const page = await openAnother(t, opened(), { prepare: line.lay });
    let asked = 0;
    await page.route('**/v3/blueprints', (route) => (asked++ === 0 ? undefined : route.continue()));
    await open(page, '#/blueprints');
    await until(() => asked === 1);
    await line.cut(page);
    await line.mend(page);
    await page.getByRole('heading', { name: 'Built-in' }).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
  });

  test('the next page brings the console of the version that is installed by then', async (t) => {
    const line = liveLine();
    const page = await openAnother(t, opened(), { prepare: line.lay });
    await page.evaluate('window.isTheOneBefore = true');
    await line.cut(page);
    await line.mend(page);
    await open(page, '#/rules');
    await page.getByRole('heading', { name: 'Rules', exact: true }).waitFor();
    assert.equal(await page.evaluate('window.isTheOneBefore'), true);
    await page.route(`${opened().gateway.origin}/`, async (route) => {
      if (route.request().resourceType() === 'document') return route.continue();
      const response = await route.fetch();
      const body = (await response.text()).replace(/(?<=module" src=")[^"]+/, '/another.js');
      return route.fulfill({ response, body });
    });
    await line.cut(page);
    const looked = page.waitForResponse(`${opened().gateway.origin}/`);
    await line.mend(page);
    await (await looked).finished();
    // It may be loaded anew before this is answered.
    await open(page, '#/access').catch(() => undefined);
    await until(async () => {
      // What was read of it may not be known with the first page after it.
      await page.evaluate("dispatchEvent(new HashChangeEvent('hashchange'))").catch(() => undefined);
      return (await page.evaluate('window.isTheOneBefore').catch(() => true)) === undefined;
    });
    await page.getByRole('heading', { name: 'Access', exact: true }).waitFor();
  });
});

describe('another page', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  test('a row deleted on another page leaves the focus where it was', async (t) => {
    const { gateway } = opened();
    const { user } = await gateway.ok('INSTALLER', 'POST', '/v3/auth/users', { ...TENANT, role: 'USER' });
    const page = await openAnother(t, opened());
    await open(page, '#/access');
    const button = page.getByRole('button', { name: 'Delete tenant' });
    await button.waitFor();
    await gateway.ok('INSTALLER', 'DELETE', `/v3/auth/users/${(user as { id: string }).id}`);
    await button.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).press('Enter');
    await button.waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('alert').count(), 0);
    await until(async () => (await focused(page)) === 'BUTTON Edit…');
  });

  test('a login ended on another page is asked for again, with the reason and the name', async (t) => {
    const { gateway } = opened();
    await gateway.ok('INSTALLER', 'POST', '/v3/auth/users', { ...TENANT, role: 'OWNER' });
    const page = await openAnother(t, opened(), TENANT);
    await open(page, '#/history/energy');
    await page.locator('[data-test=energy-history]').waitFor();
    const { access_tokens: sessions } = await gateway.ok('INSTALLER', 'GET', '/v3/auth/tokens?kind=SESSION');
    for (const { id, user } of sessions as { id: string; user?: { name: string } }[])
      if (user?.name === TENANT.name) await gateway.ok('INSTALLER', 'DELETE', `/v3/auth/tokens/${id}`);
    await page.getByText('Your login has expired.').waitFor();
    assert.equal(await page.inputValue('[name=name]'), TENANT.name);
    await page.fill('[name=password]', TENANT.password);
    await page.keyboard.press('Enter');
    await page.locator('[data-test=energy-history]').waitFor();
  });

  test('a login ended while somebody types keeps the text for the same person, and for nobody else', async (t) => {
    const { gateway } = opened();
    const endLogins = async (): Promise<void> => {
      const { access_tokens: sessions } = await gateway.ok(
        'INSTALLER',
        'GET',
        '/v3/auth/tokens?kind=SESSION',
      );
      for (const { id, user } of sessions as { id: string; user?: { name: string } }[])
        if (user?.name === TENANT.name) await gateway.ok('INSTALLER', 'DELETE', `/v3/auth/tokens/${id}`);
    };
    const page = await openAnother(t, opened(), TENANT);
    const place = page.locator('[name=place]');
    const logIn = async (name: string, password: string): Promise<void> => {
      await page.getByText('Your login has expired.').waitFor();
      assert.equal(await place.isVisible(), false);
      await page.fill('.gate [name=name]', name);
      await page.fill('.gate [name=password]', password);
      await page.keyboard.press('Enter');
      await page.getByText('Your login has expired.').waitFor({ state: 'detached' });
    };
    await open(page, '#/site');
    await place.fill('Behind the hall');
    await endLogins();
    await page.getByText('Your login has expired.').waitFor();
    // No page is behind it to go back to.
    for (let press = 0; press < 3; press++) await page.keyboard.press('Escape');
    await logIn(TENANT.name, TENANT.password);
    await until(async () => (await focused(page)).startsWith('INPUT'));
    assert.equal(await place.inputValue(), 'Behind the hall');
    await page.getByText('No live connection').waitFor({ state: 'detached' });
    await place.press('Enter');
    await page.getByText('Saved.').waitFor();
    await place.fill('In the garden');
    await endLogins();
    await logIn('installer', PASSWORD);
    await until(async () => (await place.inputValue()) === 'Behind the hall');
  });

  test('a role lowered on another page removes what is refused from now on', async (t) => {
    const { gateway } = opened();
    const { user } = await gateway.ok('INSTALLER', 'POST', '/v3/auth/users', { ...LODGER, role: 'OWNER' });
    const page = await openAnother(t, opened(), LODGER);
    await page.getByRole('link', { name: 'Rules' }).waitFor();
    await gateway.ok('INSTALLER', 'PATCH', `/v3/auth/users/${(user as { id: string }).id}`, {
      role: 'READONLY',
    });
    await page.getByRole('link', { name: 'Rules' }).waitFor({ state: 'detached' });
    await page.locator('.who').getByText('readonly').waitFor();
  });

  test('another person who logged in meanwhile is recognised', async (t) => {
    const line = liveLine();
    const page = await openAnother(t, opened(), { prepare: line.lay });
    await open(page, '#/access');
    const who = page.locator('.who b');
    await who.getByText('installer').waitFor();
    await line.cut(page);
    const other = await page.context().newPage();
    await other.goto(opened().gateway.origin);
    await other.getByRole('button', { name: 'Log out' }).click();
    await logIn(other, LODGER);
    await other.locator('.who b').getByText(LODGER.name).waitFor();
    await line.mend(page);
    await who.getByText(LODGER.name).waitFor();
  });

  test('a page follows when another one logged out and in again', async (t) => {
    const page = await openAnother(t, opened());
    const other = await page.context().newPage();
    await other.goto(opened().gateway.origin);
    await other.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('Your login has expired.').waitFor();
    await logIn(other, { name: 'installer', password: PASSWORD });
    await page.locator('.nav').waitFor();
  });

  test('changes that exceed one answer of the API are all shown', async (t) => {
    const { gateway } = opened();
    for (let from = 0; from < CHANGES; from += AT_ONCE)
      await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) =>
          gateway.ok('OWNER', 'PATCH', '/v3/site', { name: `Site ${from + index}` }),
        ),
      );
    const page = await openAnother(t, opened());
    await open(page, '#/access');
    const card = page.locator('section', { has: page.getByRole('heading', { name: 'Activity' }) });
    const more = card.getByRole('button', { name: /^Show more of/ });
    await more.waitFor();
    // What was asked for takes the button away at any moment: it is pressed in the step that finds it.
    await until(async () => {
      const found = await more.evaluateAll((buttons) => {
        for (const button of buttons) (button as unknown as { click(): void }).click();
        return buttons.length;
      });
      return found === 0;
    });
    const shown = await card.locator('.rows li').count();
    assert.ok(shown > CHANGES);
  });
});
