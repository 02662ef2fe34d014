/** What somebody else changes, deletes or commands is shown at once, and takes nothing away from who is at work here. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { visit } from './pages.ts';
import { openAnother, picture, useConsole } from './support.ts';

const RULES = '/v3/site/rule_engine/rules';
const TARGETS = '/v3/targets';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const script = (code: string) => ({ script: { code: base64(code), runtime_version: 'V3' } });

const count = (page: Page, text: string | RegExp): Promise<number> => page.getByText(text).count();

describe('what is changed elsewhere', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  const blueprint = async (name: string, manifest: object): Promise<string> => {
    const zip = await zipOf({
      'manifest.yml': JSON.stringify({
        blueprint_spec: 'device/3.0',
        display_name: name,
        runtime: { type: 'embedded' },
        ...manifest,
      }),
    });
    return String((await opened().gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip))['id']);
  };

  test('a deleted device is no longer called ONLINE, on its page and in the list', async (t) => {
    const { gateway, page } = opened();
    const device = await gateway.provision('Stray');
    const other = await gateway.provision('Stayer');
    await device.connect();
    await device.telemetry({ battery_soc: 40 });
    await visit(page, '#/devices/stray/values');
    await page.locator('.page-head .badge', { hasText: 'ONLINE' }).waitFor();
    const list = await openAnother(t, opened());
    await list.locator('[data-device=stray]').waitFor();
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
    await page.locator('.page-head .badge', { hasText: 'DELETED' }).waitFor();
    await page.getByText('This device was deleted.').waitFor();
    assert.equal(await page.locator('.tabs').count(), 0);
    await picture(page, 'device-gone');
    await list.locator('[data-device=stray]').waitFor({ state: 'detached' });
    await gateway.ok('OWNER', 'PATCH', `/v3/devices/${other.id}`, { name: 'Another name' });
    await list.getByRole('heading', { name: 'Another name' }).waitFor();
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${other.id}`);
  });

  test('a form keeps typed text when its device is deleted', async () => {
    const { gateway, page } = opened();
    const device = await gateway.provision('Typed');
    await visit(page, '#/devices/typed/settings');
    await page.fill('[name=name]', 'Half a na');
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
    await page.getByText('This device was deleted.').waitFor();
    assert.equal(await page.inputValue('[name=name]'), 'Half a na');
    assert.equal(await page.evaluate('document.activeElement.name'), 'name');
    await page.press('[name=name]', 'Enter');
    await page.getByRole('alert').waitFor();
    assert.equal(await page.inputValue('[name=name]'), 'Half a na');
    await page.locator('main').getByRole('link', { name: 'Overview' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
    await page.locator('.devices').waitFor();
  });

  test('an untouched field follows a remote change, and a typed one stays', async () => {
    const { gateway, page } = opened();
    const device = await gateway.provision('Followed');
    await visit(page, '#/devices/followed/settings');
    await page.fill('[name=slug]', 'mine');
    await gateway.ok('OWNER', 'PATCH', `/v3/devices/${device.id}`, { name: 'Theirs' });
    await until(async () => (await page.inputValue('[name=name]')) === 'Theirs');
    assert.equal(await page.inputValue('[name=slug]'), 'mine');
    await page.press('[name=slug]', 'Enter');
    await until(async () => page.url().endsWith('#/devices/mine/settings'));
    const { device: stored } = await gateway.ok('OWNER', 'GET', `/v3/devices/${device.id}`);
    assert.deepEqual(
      [(stored as { name: string }).name, (stored as { slug: string }).slug],
      ['Theirs', 'mine'],
    );
    await visit(page, '#/devices/mine/configuration');
    const group = '/v3/devices/mine/configuration';
    const { configuration } = await gateway
      .ok('OWNER', 'GET', '/v3/devices/mine/manifest')
      .then(
        ({ manifest }) =>
          manifest as { configuration: Record<string, { parameters: Record<string, { type: string }> }> },
      );
    const [[name, { parameters }] = ['', { parameters: {} }]] = Object.entries(configuration);
    const [parameter] = Object.entries(parameters).find(([, { type }]) => /^(integer|float)$/.test(type)) ?? [
      '',
    ];
    await gateway.ok('OWNER', 'PATCH', `${group}/${name}`, { set: { [parameter]: 17 } });
    await until(async () => (await page.inputValue(`[name="${parameter}"]`)) === '17');
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
  });

  test('a device with another blueprint shows its values, and an open command stays open', async () => {
    const { gateway, page } = opened();
    const tank = await blueprint('Tank', {
      telemetry: { level: { display_name: 'Level', type: 'float' } },
    });
    const device = await gateway.provision('Changing');
    await device.connect();
    await visit(page, '#/devices/changing/commands');
    await page.locator('[data-command=stop]').click();
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await gateway.ok('OWNER', 'POST', `/v3/devices/${device.id}/assign_blueprint`, { blueprint_id: tank });
    await page.getByText('· Tank').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await visit(page, '#/devices/changing/values');
    await device.telemetry({ level: 7.25 });
    await page.getByText('7.25').first().waitFor();
    await device.leave();
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
  });

  test("a target's dialog keeps typed text when the target is deleted", async () => {
    const { gateway, page } = opened();
    const made = await gateway.ok('OWNER', 'POST', TARGETS, {
      name: 'Cloud',
      kind: 'INFLUXDB',
      influxdb: { url: 'http://127.0.0.1:9/write' },
    });
    const { id } = made['target'] as { id: string };
    await visit(page, '#/system/targets');
    await page.getByRole('button', { name: 'Edit Cloud' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('[name=name]').fill('Clouds');
    await gateway.ok('OWNER', 'PATCH', `${TARGETS}/${id}`, { influxdb: { username: 'theirs' } });
    await until(async () => (await dialog.locator('[name=username]').inputValue()) === 'theirs');
    assert.equal(await dialog.locator('[name=name]').inputValue(), 'Clouds');
    const read = page.waitForResponse((answer) => new URL(answer.url()).pathname === TARGETS);
    await gateway.ok('OWNER', 'DELETE', `${TARGETS}/${id}`);
    await read;
    assert.equal(await dialog.locator('[name=name]').inputValue(), 'Clouds');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').waitFor();
    await picture(page, 'target-gone');
    await page.keyboard.press('Escape');
    await page
      .getByRole('dialog', { name: 'Discard your changes?' })
      .getByRole('button', { name: 'Discard' })
      .click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Telemetry stays on this gateway').waitFor();
    assert.equal(await count(page, 'Cloud'), 0);
  });

  test('a chosen device that is deleted is not replaced by another, and can be removed from the choice', async () => {
    const { gateway, page } = opened();
    const [one, other] = [await gateway.provision('A first'), await gateway.provision('Chosen')];
    await visit(page, '#/site');
    const card = page.locator('[data-test=energy-sources]');
    await card.getByRole('button', { name: 'Add value' }).click();
    await card.locator('[name=device]').selectOption({ label: 'Chosen' });
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${other.id}`);
    await until(async () => (await card.locator('[name=device] option:checked').innerText()) === '–');
    await card.locator('[name=device]').selectOption({ label: 'A first' });
    await card.getByRole('button', { name: /^Remove/ }).click();
    await page.reload();
    await visit(page, '#/system/targets');
    await page.getByRole('button', { name: 'Add target' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('A first').check();
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${one.id}`);
    await dialog.getByLabel('a deleted device').click();
    await dialog.getByLabel('a deleted device').waitFor({ state: 'detached' });
    await page.reload();
  });

  test('a rule that is renamed, disabled or deleted says so on its page, and keeps an unsaved script', async () => {
    const { gateway, page } = opened();
    await gateway.ok('OWNER', 'POST', RULES, { slug: 'first', ...script('-- stored') });
    await visit(page, '#/rules/first');
    const badge = page.locator('.page-head .badge');
    await badge.getByText('Disabled').waitFor({ state: 'detached' });
    await gateway.ok('OWNER', 'PATCH', `${RULES}/first`, { slug: 'second' });
    await page.getByRole('heading', { name: 'second', exact: true }).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    await gateway.ok('OWNER', 'POST', `${RULES}/second/disable`);
    await badge.getByText('Disabled').waitFor();
    await page.locator('.cm-content').fill('-- unsaved');
    await gateway.ok('OWNER', 'DELETE', `${RULES}/second`);
    await page.getByText('This rule was deleted.').waitFor();
    await badge.getByText('DELETED').waitFor();
    await page.locator('.cm-line', { hasText: '-- unsaved' }).waitFor();
    await picture(page, 'rule-gone');
    await gateway.ok('OWNER', 'POST', RULES, { slug: 'third', ...script('-- stored') });
    await visit(page, '#/rules/third');
    await gateway.ok('OWNER', 'DELETE', `${RULES}/third`);
    await page.getByText('This rule was deleted.').waitFor();
    assert.equal(await page.locator('.cm-content').count(), 0);
    assert.equal(await badge.innerText(), 'DELETED');
  });

  test('unreadable states of rules are not shown as before', async (t) => {
    const { gateway } = opened();
    await gateway.ok('OWNER', 'POST', RULES, { slug: 'unread', ...script('-- stored') });
    const page = await openAnother(t, opened());
    await visit(page, '#/rules');
    await page.locator('.rows .badge').first().waitFor();
    await page.route(`**${RULES}`, (route) =>
      route.fulfill({ status: 503, json: { errors: [{ code: 'unavailable', message: 'Not now.' }] } }),
    );
    await page.locator('.rows .badge').getByText('UNKNOWN').first().waitFor();
    await gateway.ok('OWNER', 'DELETE', `${RULES}/unread`);
  });

  test('lists and forms of every page follow remote changes within seconds', async () => {
    const { gateway, page } = opened();
    const { ok } = gateway;
    const id = (answer: Record<string, unknown>, name: string): string => (answer[name] as { id: string }).id;
    await visit(page, '#/access');
    const user = await ok('INSTALLER', 'POST', '/v3/auth/users', {
      name: 'berta',
      password: 'a password of hers',
      role: 'USER',
    });
    await page.locator('.rows b', { hasText: 'berta' }).waitFor();
    const token = await ok('INSTALLER', 'POST', '/v3/auth/tokens', {
      name: 'for a script',
      role: 'READONLY',
    });
    await page.locator('.rows b', { hasText: 'for a script' }).waitFor();
    await ok('INSTALLER', 'DELETE', `/v3/auth/users/${id(user, 'user')}`);
    await page.locator('.rows b', { hasText: 'berta' }).waitFor({ state: 'detached' });
    await ok('INSTALLER', 'DELETE', `/v3/auth/tokens/${id(token, 'access_token')}`);
    await page.locator('.rows b', { hasText: 'for a script' }).waitFor({ state: 'detached' });

    await visit(page, '#/system/ports');
    await ok('INSTALLER', 'POST', '/v3/serial_ports', { name: 'rs485', path: '/dev/ttyUSB0' });
    await page.locator('[data-test=serial_ports] b', { hasText: 'rs485' }).waitFor();
    await ok('INSTALLER', 'DELETE', '/v3/serial_ports/rs485');
    await page.locator('[data-test=serial_ports] b', { hasText: 'rs485' }).waitFor({ state: 'detached' });

    await visit(page, '#/alerts/notifications');
    const channel = await ok('OWNER', 'POST', '/v3/notification_channels', {
      name: 'Pager',
      kind: 'NTFY',
      ntfy: { topic: 'depot-9' },
    });
    await page.locator('[data-test=channels] b', { hasText: 'Pager' }).waitFor();
    await ok('OWNER', 'DELETE', `/v3/notification_channels/${id(channel, 'notification_channel')}`);
    await page.locator('[data-test=channels] b', { hasText: 'Pager' }).waitFor({ state: 'detached' });

    await visit(page, '#/blueprints');
    await blueprint('Windmill', { telemetry: {} });
    await page.locator('.rows b', { hasText: 'Windmill' }).waitFor();

    await visit(page, '#/site');
    await ok('OWNER', 'PATCH', '/v3/site', { name: 'Elsewhere', timezone: 'Asia/Tokyo' });
    await page.locator('.nav .brand', { hasText: 'Elsewhere' }).waitFor();
    await until(async () => (await page.inputValue('[name=timezone]')) === 'Asia/Tokyo');
    await ok('OWNER', 'PATCH', '/v3/site', { timezone: 'UTC' });

    await visit(page, '#/system/backup');
    await ok('INSTALLER', 'PATCH', '/v3/backup/plan', { keep: 11 });
    await until(async () => (await page.inputValue('[name=keep]')) === '11');
  });

  test('a command given elsewhere is listed, and lists grow by one page', async () => {
    const { gateway, page } = opened();
    const device = await gateway.provision('Commanded');
    await device.connect();
    device.obey();
    await visit(page, '#/devices/commanded/commands');
    const items = page.locator('[data-test=executions] details');
    for (let round = 0; round < 25; round++)
      await gateway.ok('USER', 'POST', `/v3/devices/${device.id}/commands/execute`, { name: 'stop' });
    await until(async () => (await items.count()) === 10);
    await items.first().getByText('Done').first().waitFor();
    await page.getByRole('button', { name: 'Show more of 25' }).click();
    await until(async () => (await items.count()) === 20);
    await device.leave();
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
  });

  test('a program that changes something endlessly makes a page read it only once in a while', async (t) => {
    const { gateway } = opened();
    let heard = 0;
    let reads = 0;
    const page = await openAnother(t, opened(), {
      prepare: async (one) => {
        await one.clock.install();
        one.on('websocket', (socket) =>
          socket.on('framereceived', ({ payload }) => {
            if (String(payload).includes('"change":"OTHER"')) heard++;
          }),
        );
        one.on('request', (request) => {
          if (new URL(request.url()).pathname === '/v3/auth/users') reads++;
        });
      },
    });
    await visit(page, '#/access');
    // By then every change received so far was read.
    await page.clock.runFor(5_000);
    await page.clock.pauseAt(Date.now() + 10_000);
    await until(async () => (await page.locator('.loading').count()) === 0);
    const change = async (): Promise<void> => {
      const before = heard;
      await gateway.ok('OWNER', 'PATCH', '/v3/site', { name: `Site ${before}` });
      await until(() => heard > before);
      // The page has it, too.
      await page.evaluate(
        'new Promise((had) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = had; port2.postMessage(0); })',
      );
    };
    const before = reads;
    for (let changes = 0; changes < 5; changes++) await change();
    // With what is drawn after it.
    await page.clock.runFor(600);
    await until(() => reads === before + 1);
    await change();
    await page.clock.runFor(1_800);
    assert.equal(reads, before + 1);
    await page.clock.runFor(200);
    await until(() => reads === before + 2);
  });

  test('stored things are read again although the stream is missing', async (t) => {
    const { gateway } = opened();
    const page = await openAnother(t, opened(), {
      prepare: async (one) => {
        await one.clock.install();
        await one.routeWebSocket(/\/v3\//, (socket) => void socket.close());
      },
    });
    await page.evaluate("location.hash = '#/access'");
    await page.getByText('Active logins').waitFor();
    const { user } = await gateway.ok('INSTALLER', 'POST', '/v3/auth/users', {
      name: 'carla',
      password: 'a password of hers',
      role: 'USER',
    });
    await page.clock.runFor(31_000);
    await page.locator('.rows b', { hasText: 'carla' }).waitFor();
    await gateway.ok('INSTALLER', 'DELETE', `/v3/auth/users/${(user as { id: string }).id}`);
  });

  test('the chart of a switch and its table tell when it changed', async () => {
    const { gateway, page } = opened();
    const relay = await blueprint('Relay', {
      telemetry: { closed: { display_name: 'Closed', type: 'boolean' } },
    });
    const device = await gateway.provision('Relay', relay);
    await device.connect();
    const nowS = Math.floor(Date.now() / 1_000);
    for (let ago = 40; ago > 0; ago--)
      await device.telemetry({ timestamp: nowS - ago * 30, closed: ago > 20 });
    await visit(page, '#/devices/relay/chart');
    await page.getByRole('checkbox', { name: 'Closed' }).check();
    await page.getByRole('button', { name: 'Show table' }).click();
    const cells = page.locator('.picture-table td');
    await until(async () => (await cells.allInnerTexts()).join() === 'off,on');
    await page.locator('.series-chip .now', { hasText: 'off' }).waitFor();
    await picture(page, 'chart-of-a-relay');
    await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.id}`);
  });

  test('remote changes cause no error in the browser', () => {
    assert.deepEqual(
      opened().complaints.filter(
        (text) => !/status of [45]\d\d|Unexpected response code: 40\d|Applying inline style/.test(text),
      ),
      [],
    );
  });
});
