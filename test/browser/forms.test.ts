/** Forms: what others change meanwhile stays, what is typed is not lost without a word, and what a control is called. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { openAnother, useConsole } from './support.ts';

describe('forms', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  test('a form of the site sends only changed members', async () => {
    const { gateway, page } = opened();
    const location = { name: 'Hall 2', latitude: 52.5, longitude: 13.4 };
    await gateway.ok('OWNER', 'PATCH', '/v3/site', { name: 'Depot', location });
    await visit(page, '#/site');
    await gateway.ok('OWNER', 'PATCH', '/v3/site', { name: 'Depot north', location: { latitude: 48.1 } });
    await page.fill('[name=longitude]', '11.5');
    await page.fill('[name=place]', '');
    await page.press('[name=place]', 'Enter');
    await page.getByText('Saved.').waitFor();
    const { site } = (await gateway.ok('OWNER', 'GET', '/v3/site')) as { site: Record<string, unknown> };
    assert.equal(site['name'], 'Depot north');
    assert.deepEqual(site['location'], { name: '', latitude: 48.1, longitude: 11.5 });
    // What others have changed is there now.
    assert.equal(await page.inputValue('[name=name]'), 'Depot north');
  });

  test('a refusal names the field by the label above its control', async () => {
    const { page } = opened();
    await visit(page, '#/site');
    await page.fill('[name=latitude]', '95');
    await page.fill('[name=place]', 'x'.repeat(300));
    await page.press('[name=place]', 'Enter');
    const refusal = page.getByRole('alert');
    await refusal.getByText('Field "Latitude" must be from').waitFor();
    await refusal.getByText('Field "Location" must have').waitFor();
    await page.fill('[name=latitude]', '52.5');
    await page.fill('[name=place]', 'Hall 2');
    await page.press('[name=place]', 'Enter');
    await page.getByText('Saved.').waitFor();
  });

  test('forms of a device, a target and a channel send only changed members', async () => {
    const { gateway, page } = opened();
    await gateway.provision('Battery');
    const device = '/v3/devices/battery';
    await visit(page, '#/devices/battery/settings');
    await gateway.ok('OWNER', 'PATCH', device, { slug: 'battery-2' });
    await page.fill('[name=name]', 'Battery in the hall');
    await page.press('[name=slug]', 'Enter');
    await page.waitForURL(/#\/devices\/battery-2\/settings$/);
    await page.getByRole('heading', { name: 'Battery in the hall' }).waitFor();

    const { notification_channel: channel } = (await gateway.ok(
      'OWNER',
      'POST',
      '/v3/notification_channels',
      { name: 'Phones', kind: 'NTFY', ntfy: { topic: 'depot-4711' } },
    )) as { notification_channel: { id: string } };
    const address = `/v3/notification_channels/${channel.id}`;
    await visit(page, '#/alerts/notifications');
    await page.getByRole('button', { name: 'Edit Phones' }).click();
    await gateway.ok('OWNER', 'PATCH', address, { minimum_severity: 'error', ntfy: { topic: 'depot-4712' } });
    await page.getByRole('dialog').locator('[name=name]').fill('All phones');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { notification_channels: channels } = (await gateway.ok(
      'OWNER',
      'GET',
      '/v3/notification_channels',
    )) as { notification_channels: Record<string, unknown>[] };
    assert.partialDeepStrictEqual(channels, [
      { name: 'All phones', minimum_severity: 'error', ntfy: { topic: 'depot-4712' } },
    ]);
  });

  test('a form of energy sources overwrites changes by others only on a second request', async () => {
    const { gateway, page } = opened();
    await visit(page, '#/site');
    const card = page.locator('[data-test=energy-sources]');
    await card.getByRole('button', { name: 'Add value' }).click();
    await card.locator('[name=device]').selectOption({ label: 'Battery in the hall' });
    await card.locator('[name=power]').selectOption({ label: 'AC Power' });
    const theirs = { role: 'pv', device_id: 'battery-2', power: 'pv_total_power' };
    await gateway.ok('OWNER', 'PATCH', '/v3/site/energy/sources', { items: [theirs] });
    await card.getByRole('button', { name: 'Save' }).click();
    await card.getByText(/^Somebody else has changed this in the meantime/).waitFor();
    await card.getByRole('button', { name: 'Save' }).click();
    await card.getByText('Saved.').waitFor();
    const { energy_sources: sources } = (await gateway.ok('OWNER', 'GET', '/v3/site/energy/sources')) as {
      energy_sources: { items: { role: string; profile: string | null }[] };
    };
    const own = sources.items.filter(({ profile }) => profile === null);
    assert.deepEqual(
      own.map(({ role }) => role),
      ['grid'],
    );
    await gateway.ok('OWNER', 'PATCH', '/v3/site/energy/sources', { items: [] });
  });

  test('forms overwrite changes by others only on a second request', async () => {
    const { gateway, page } = opened();
    const { target } = (await gateway.ok('OWNER', 'POST', '/v3/targets', {
      name: 'Cloud',
      kind: 'INFLUXDB',
      influxdb: { url: 'http://127.0.0.1:9/write' },
    })) as { target: { id: string } };
    const { user } = (await gateway.ok('INSTALLER', 'POST', '/v3/auth/users', {
      name: 'anna',
      password: 'a password of hers',
      role: 'USER',
    })) as { user: { id: string } };
    const { notification_channel: channel } = (await gateway.ok(
      'OWNER',
      'POST',
      '/v3/notification_channels',
      { name: 'Mobile', kind: 'NTFY', ntfy: { topic: 'depot-1' } },
    )) as { notification_channel: { id: string } };
    const plan = '/v3/backup/plan';
    const saves = async (
      { hash, change, field }: { hash: string; change?: string; field: string },
      { path, body, mine }: { path: string; body: object; mine: string },
    ): Promise<void> => {
      await visit(page, hash);
      if (change !== undefined) await page.getByRole('button', { name: change }).click();
      const form = change === undefined ? page.locator('main') : page.getByRole('dialog');
      const control = form.locator(`[name=${field}]`).first();
      if ((await control.evaluate((element) => element.tagName)) === 'SELECT')
        await control.selectOption(mine);
      else await control.fill(mine);
      await gateway.ok('INSTALLER', 'PATCH', path, body);
      const save = form
        .locator('form', { has: page.locator(`[name=${field}]`) })
        .getByRole('button', { name: 'Save' });
      await save.click();
      await form.getByText(/^Somebody else has changed this in the meantime/).waitFor();
      assert.equal(await control.inputValue(), mine, 'what was typed is still there');
      await save.click();
      if (change === undefined)
        await form
          .getByText(/Saved\.|saved\./)
          .first()
          .waitFor();
      else await form.waitFor({ state: 'detached' });
    };
    await saves(
      { hash: '#/system/targets', change: 'Edit Cloud', field: 'name' },
      {
        path: `/v3/targets/${target.id}`,
        body: { name: 'Theirs', selection: { interval_s: 60 } },
        mine: 'Mine',
      },
    );
    const { target: stored } = await gateway.ok('OWNER', 'GET', `/v3/targets/${target.id}`);
    assert.partialDeepStrictEqual(stored, { name: 'Mine', selection: { interval_s: 60 } });
    await saves(
      { hash: '#/access', change: 'Edit anna', field: 'role' },
      { path: `/v3/auth/users/${user.id}`, body: { role: 'READONLY' }, mine: 'OWNER' },
    );
    const { users } = await gateway.ok('INSTALLER', 'GET', '/v3/auth/users');
    assert.partialDeepStrictEqual(
      (users as { name: string }[]).find(({ name }) => name === 'anna'),
      { role: 'OWNER' },
    );
    await saves(
      { hash: '#/alerts/notifications', change: 'Edit Mobile', field: 'topic' },
      {
        path: `/v3/notification_channels/${channel.id}`,
        body: { ntfy: { topic: 'depot-2' } },
        mine: 'depot-3',
      },
    );
    await saves(
      { hash: '#/system/backup', field: 'keep' },
      { path: plan, body: { keep: 3, alert_after_days: 9 }, mine: '5' },
    );
    const { backup_plan: kept } = await gateway.ok('OWNER', 'GET', plan);
    assert.partialDeepStrictEqual(kept, { keep: 5, alert_after_days: 9 });
    await saves(
      { hash: '#/site', field: 'name' },
      { path: '/v3/site', body: { name: 'Theirs' }, mine: 'Ours' },
    );
    await gateway.ok('OWNER', 'PATCH', '/v3/site', { name: 'Depot north' });
    await saves(
      { hash: '#/devices/battery-2/settings', field: 'name' },
      { path: '/v3/devices/battery-2', body: { name: 'Theirs' }, mine: 'Battery of ours' },
    );
  });

  test('a renamed device opens at its new address, also when the page learned of it before the answer', async () => {
    const { gateway, page } = opened();
    const device = await gateway.provision('Converter');
    await visit(page, '#/devices/converter/settings');
    await gateway.ok('OWNER', 'PATCH', `/v3/devices/${device.id}`, { slug: 'converter-2' });
    // One that is not known yet has the list read.
    const other = await gateway.provision('Other');
    await other.connect();
    await page.locator('.tabs a[href="#/devices/converter-2/logs"]').waitFor();
    await page.fill('[name=name]', 'Converter in the hall');
    await page.press('[name=name]', 'Enter');
    await page.waitForURL(/#\/devices\/converter-2\/settings$/);
    await page.getByRole('heading', { name: 'Converter in the hall' }).waitFor();
    await other.leave();
  });

  test('hints are announced after the names of their controls, not as part of them', async () => {
    const { page } = opened();
    await visit(page, '#/site');
    const zone = page.getByRole('combobox', { name: 'Time zone', exact: true });
    const hint = await zone.getAttribute('aria-describedby');
    assert.match(await page.locator(`[id="${hint}"]`).innerText(), /^Rules and schedules use it\./);
  });

  test('choosing another language asks before input is lost', async () => {
    const { page } = opened();
    await visit(page, '#/alerts');
    await visit(page, '#/site');
    await page.fill('[name=place]', 'Behind the hall');
    await page.getByLabel('Language').selectOption('de');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.equal(await page.inputValue('[name=language]'), 'en');
    assert.equal(await page.inputValue('[name=place]'), 'Behind the hall');
    await page.press('[name=place]', 'Enter');
    await page.getByText('Saved.').waitFor();
    await page.getByLabel('Language').selectOption('de');
    await page.getByLabel('Sprache').waitFor();
    await page.getByLabel('Sprache').selectOption('en');
    await until(async () => (await page.getByLabel('Language').count()) === 1);
  });

  test('leaving a page by a link or back asks before input is lost', async () => {
    const { page } = opened();
    await visit(page, '#/alerts');
    await visit(page, '#/site');
    const dialog = page.getByRole('dialog');
    const isAt = (hash: string): Promise<void> => until(async () => page.url().endsWith(hash));
    for (const leave of [
      () => page.getByRole('link', { name: 'Access' }).click(),
      () => page.goBack().then(() => undefined),
    ]) {
      await page.fill('[name=place]', 'In the garden');
      await leave();
      await dialog.getByText('Your unsaved changes will be lost.').waitFor();
      await isAt('#/site');
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      assert.equal(await page.inputValue('[name=place]'), 'In the garden');
    }
    await page.goBack();
    await dialog.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Alerts', exact: true }).waitFor();
    await isAt('#/alerts');
    await visit(page, '#/site');
    await page.fill('[name=place]', 'In the garden');
    await page.getByRole('button', { name: 'Log out' }).click();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.reload();
    // What is stored is no reason to ask.
    await visit(page, '#/site');
    assert.equal(await page.inputValue('[name=place]'), 'Behind the hall');
    await page.fill('[name=place]', 'In the garden');
    await page.press('[name=place]', 'Enter');
    await page.getByText('Saved.').waitFor();
    await page.getByRole('link', { name: 'Access' }).click();
    await page.getByRole('heading', { name: 'Access', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Site', exact: true }).waitFor();
  });

  test('Escape asks in a dialog before input is lost, and does not ask without input', async () => {
    const { page } = opened();
    await visit(page, '#/system/targets');
    const form = page.getByRole('dialog', { name: 'Add target' });
    const question = page.getByRole('dialog', { name: 'Discard your changes?' });
    const open = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Add target' }).click();
      await form.waitFor();
    };
    await open();
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
    await open();
    await form.locator('[name=name]').fill('The fleet');
    await page.keyboard.press('Escape');
    await question.getByText('Your unsaved changes will be lost.').waitFor();
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    assert.equal(await form.locator('[name=name]').inputValue(), 'The fleet');
    assert.equal(await page.evaluate('document.activeElement?.name'), 'name');
    await page.keyboard.press('Escape');
    await question.getByRole('button', { name: 'Discard' }).click();
    await form.waitFor({ state: 'detached' });
    await visit(page, '#/site');
  });

  test('a refusal is visible on a phone, beside the button to try again', async (t) => {
    const page = await openAnother(t, opened());
    await page.setViewportSize({ width: 390, height: 844 });
    await visit(page, '#/system/targets');
    await page.getByRole('button', { name: 'Add target' }).click();
    const form = page.getByRole('dialog', { name: 'Add target' });
    await form.locator('[name=name]').fill('The fleet');
    await form.locator('[name=url]').fill('no address');
    await form.getByRole('button', { name: 'Add', exact: true }).click();
    await form.getByRole('alert').waitFor();
    const unseen =
      await page.evaluate(`[...document.querySelectorAll('dialog [role=alert], dialog .actions.end')]
      .filter((part) => part.getBoundingClientRect().bottom > part.closest('dialog').getBoundingClientRect().bottom)
      .map((part) => part.textContent)`);
    assert.deepEqual(unseen, []);
  });

  test('a form does not ask right after it was saved', async () => {
    const { page, gateway } = opened();
    await gateway.ok('OWNER', 'POST', '/v3/notification_channels', {
      name: 'Pager',
      kind: 'NTFY',
      ntfy: { topic: 'depot-9' },
    });
    await visit(page, '#/alerts/notifications');
    await page.getByRole('button', { name: 'Edit Pager' }).click();
    await page.getByRole('dialog').locator('[name=topic]').fill('depot-10');
    await page.evaluate(`new MutationObserver((_, observer) => {
      if (document.querySelector('dialog')) return;
      observer.disconnect();
      location.hash = '#/access';
      // At once, not when the browser comes to it.
      dispatchEvent(new Event('hashchange'));
    }).observe(document.body, { childList: true, subtree: true })`);
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Access', exact: true }).waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
  });

  test('a form does not ask on another page', async (t) => {
    const page = await openAnother(t, opened());
    await visit(page, '#/site');
    let store = (): void => undefined;
    const stored = new Promise<void>((resolve) => (store = resolve));
    await page.route('**/v3/site', async (route) => {
      if (route.request().method() === 'PATCH') await stored;
      await route.continue();
    });
    await page.fill('[name=place]', 'On the roof');
    await page.press('[name=place]', 'Enter');
    await page.getByRole('link', { name: 'Access' }).click();
    await page.getByRole('dialog').getByText('Your unsaved changes will be lost.').waitFor();
    store();
    await page.getByText('Saved.').waitFor();
    await visit(page, '#/alerts');
    assert.equal(await page.getByRole('dialog').count(), 0);
  });

  test('one of very many values is found by its name, beside those that are drawn', async () => {
    const { page, gateway } = opened();
    const names = Array.from({ length: 70 }, (_, cell) => `string_${cell % 3}_cell_${cell}_voltage`);
    const manifest = {
      blueprint_spec: 'device/3.0',
      display_name: 'Cells',
      runtime: { type: 'embedded' },
      telemetry: Object.fromEntries(
        names.map((name) => [name, { display_name: name.replaceAll('_', ' '), type: 'float' }]),
      ),
    };
    const zip = await zipOf({ 'manifest.yml': JSON.stringify(manifest) });
    const { id } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
    const cells = await gateway.provision('Cells');
    await gateway.ok('OWNER', 'POST', '/v3/devices/cells/assign_blueprint', { blueprint_id: id });
    await cells.connect();
    await cells.telemetry(Object.fromEntries(names.map((name, cell) => [name, cell])));
    await visit(page, '#/devices/cells/values');
    await page.getByRole('heading', { name: 'String 2' }).waitFor();
    await page.getByLabel('Find a value').fill('cell 42');
    await until(async () => (await page.locator('.fact').count()) === 1);
    await page.getByText('string 0 cell 42 voltage').waitFor();
    await page.getByLabel('Find a value').fill('cell 4711');
    await page.getByText('No matching values').waitFor();
    await visit(page, '#/devices/cells/chart');
    await page.getByLabel('Find a value').fill('cell 42');
    await until(async () => (await page.locator('.choices label').count()) === 3);
    await cells.leave();
  });

  test('the forms log no error in the browser', () => {
    assert.deepEqual(
      opened().complaints.filter((text) => !/status of 400/.test(text)),
      [],
    );
  });
});
