/** Alerts and notifications in a real browser. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import type { Route } from 'playwright-core';
import { startPostServer } from '../support/receivers.ts';
import { until } from '../support/until.ts';
import { complaintsOf, findBrowser, NO_BROWSER } from './browser.ts';
import { openAnother, PASSWORD, picture, useConsole } from './support.ts';

/** A second way to the gateway, on which the stream of this path opens late. @returns its origin */
async function slowToOpen(t: TestContext, origin: string, path: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  const sockets = new Set<Socket>();
  const server = createServer((browser) => {
    const gateway = connect(Number(port), hostname);
    for (const [socket, other] of [
      [browser, gateway],
      [gateway, browser],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
    }
    browser.once('data', (request) => {
      const isStream = request.includes(`GET ${path} `) && request.includes('websocket');
      setTimeout(() => browser.pipe(gateway), isStream ? 300 : 0);
      browser.pause();
      browser.unshift(request);
    });
    gateway.pipe(browser);
  }).listen(0, hostname);
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://${hostname}:${(server.address() as AddressInfo).port}`;
}

describe('alerts in a browser', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();
  const removed: string[] = [];
  /** The page may be about to read a device when somebody else deletes it: the browser reports that 404. */
  const remove = async (deviceId: string): Promise<void> => {
    removed.push(deviceId);
    await opened().gateway.ok('OWNER', 'DELETE', `/v3/devices/${deviceId}`);
  };

  test('the page shows an answer although more has changed meanwhile, and reads the rest afterwards', async (t) => {
    const { gateway } = opened();
    const device = await gateway.provision('Storm');
    t.after(() => device.leave());
    await device.connect();
    await device.telemetry({ alerts: ['first'] });
    const page = await openAnother(t, opened(), { prepare: (one) => one.clock.install() });
    const answers: (() => void)[] = [];
    await page.route('**/v3/alerts?state=RAISED&limit=50&*', async (route) => {
      const answer = await route.fetch();
      await new Promise<void>((resolve) => answers.push(resolve));
      await route.fulfill({ response: answer });
    });
    const heard: string[] = [];
    page.on('websocket', (socket) => {
      if (socket.url().endsWith('/v3/alerts')) socket.on('framereceived', () => heard.push('alert'));
    });
    const stream = page.waitForEvent('websocket', (socket) => socket.url().endsWith('/v3/alerts'));
    await page.evaluate(`location.hash = '#/alerts'`);
    await stream;
    await until(() => answers.length > 0);
    await device.telemetry({ alerts: ['first', 'second'] });
    await until(() => heard.length > 0);
    // All that waits for a pause in the changes.
    await page.clock.runFor(2_000);
    const rows = page.locator('[data-test=alerts] > li');
    answers[0]?.();
    await rows.filter({ hasText: 'first' }).waitFor();
    assert.equal(await rows.filter({ hasText: 'second' }).count(), 0);
    await until(() => answers.length > 1);
    answers[1]?.();
    await rows.filter({ hasText: 'second' }).waitFor();
    for (const answer of answers) answer();
    await remove(device.id);
  });

  test('the page shows how many more alerts there are, and the worst of each device first', async (t) => {
    const { gateway, page, open } = opened();
    const device = await gateway.provision('Many');
    t.after(() => device.leave());
    await device.connect();
    const names = Array.from({ length: 250 }, (_, place) => `made_up_${place}`);
    await device.telemetry({ alerts: ['battery_low', ...names] });
    await open('#/');
    const chips = page.locator('[data-device=many] .chip');
    await chips.filter({ hasText: 'and 245 more' }).waitFor();
    assert.equal(await chips.count(), 7);
    assert.equal(await chips.filter({ hasText: 'Battery Low' }).count(), 0);
    const { total_count: total } = await gateway.ok(
      'OWNER',
      'GET',
      '/v3/alerts?state=RAISED&acknowledged=false&limit=1',
    );
    // Eight are shown in words.
    await page
      .locator('[data-test=attention]')
      .getByText(`and ${Number(total) - 8} more`)
      .waitFor();
    await remove(device.id);
  });

  test('shows raised alerts that need attention, and who has acknowledged them', async () => {
    const { gateway, page, open } = opened();
    const device = await gateway.provision('Battery');
    await device.connect();
    const nowS = Math.floor(Date.now() / 1_000);
    await device.telemetry({ timestamp: nowS - 7_200, alerts: ['battery_low'], battery_soc: 8 });
    await device.telemetry({
      timestamp: nowS - 3_600,
      alerts: ['grid_lost', 'made_up'],
      alert_details: { made_up: 'cell 7' },
    });
    await page.locator('[data-test=attention]').getByText('Battery: Grid Lost').waitFor();
    await open('#/alerts');
    const rows = page.locator('[data-test=alerts] > li');
    await rows.filter({ hasText: 'made_up' }).waitFor();
    const ofBattery = rows.filter({ hasText: 'Battery' });
    assert.equal(await ofBattery.count(), 2);
    assert.match(await ofBattery.first().innerText(), /Error[^]*made_up[^]*cell 7/);
    await picture(page, 'alerts');
    await page.getByRole('button', { name: 'Acknowledge made_up of Battery' }).press('Enter');
    await ofBattery.filter({ hasText: 'Acknowledged by installer' }).waitFor();
    await page.getByRole('button', { name: 'Acknowledge all' }).click();
    await until(async () => (await ofBattery.filter({ hasText: 'Acknowledged by' }).count()) === 2);
    await page.getByRole('button', { name: 'Acknowledge all' }).waitFor({ state: 'detached' });
    // What happens is drawn without a word.
    await device.telemetry({ alerts: ['another'] });
    await until(async () => (await ofBattery.count()) === 1);
    await open('#/alerts/history');
    await rows.filter({ hasText: 'Battery Low' }).waitFor();
    await picture(page, 'alerts-history');
    await page.getByRole('link', { name: 'Chart around Grid Lost of Battery' }).click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
    assert.match(page.url(), /#\/history\/\d+-\d+\/.*grid_total_power/);
  });

  test('a channel is added and tried by keyboard', async (t) => {
    const { page, open } = opened();
    const receiver = await startPostServer(t);
    await open('#/alerts/notifications');
    await page.getByText('Nobody is notified yet').waitFor();
    await page.getByRole('button', { name: 'Add channel' }).press('Enter');
    await page.selectOption('[name=kind]', 'WEBHOOK');
    await page.fill('[name=name]', 'Service team');
    await page.fill('[name=url]', receiver.url);
    await picture(page, 'notifications-form');
    await page.locator('[name=url]').press('Enter');
    await page.getByRole('button', { name: 'Test Service team' }).press('Enter');
    await page.getByText('The test message was accepted').waitFor();
    assert.equal(receiver.posts.length, 1);
    await receiver.close();
    await page.getByRole('button', { name: 'Test Service team' }).press('Enter');
    await page.getByText(/could not be sent: Nothing listens/).waitFor();
    await page.locator('[data-test=deliveries]').getByText('not delivered').waitFor();
    await picture(page, 'notifications');
    assert.ok(!(await page.content()).includes('of-the-address'), 'the address is not shown');
  });

  test('the alerts page can be left while its stream is opening', async (t) => {
    const { gateway, browser } = opened();
    const origin = await slowToOpen(t, gateway.origin, '/v3/alerts');
    const page = await browser.newPage();
    const complaints = complaintsOf(page);
    await page.goto(origin);
    await page.fill('[name=password]', PASSWORD);
    await page.keyboard.press('Enter');
    await page.locator('[data-test=attention]').waitFor();
    const opening = page.waitForEvent('websocket', (socket) => socket.url().endsWith('/v3/alerts'));
    await page.evaluate(`location.hash = '#/alerts'`);
    const socket = await opening;
    await page.evaluate(`location.hash = '#/rules'`);
    await socket.waitForEvent('close');
    await page.close();
    assert.deepEqual(
      complaints.filter((text) => !/status of 401/.test(text)),
      [],
    );
  });

  test('a user who may not see notifications finds the raised alerts at that address', async (t) => {
    const user = { name: 'reader', role: 'READONLY', password: PASSWORD };
    await opened().gateway.ok('INSTALLER', 'POST', '/v3/auth/users', user);
    const page = await openAnother(t, opened(), { name: 'reader' });
    await page.evaluate(`location.hash = '#/alerts/notifications'`);
    await page.locator('.tabs [aria-current]', { hasText: 'Active' }).waitFor();
    await page.locator('[data-test=alerts]').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
  });

  test('the alerts page logs no error in the browser', () => {
    assert.deepEqual(
      opened().complaints.filter((text) => !removed.some((id) => text.includes(id))),
      [],
    );
  });
});

describe('what the console reads when it starts', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  test('an alert that comes while the blueprint of its device is read is shown', async (t) => {
    const device = await opened().gateway.provision('Kiln');
    await device.connect();
    const asked = Promise.withResolvers<Route>();
    const heard = Promise.withResolvers<void>();
    const page = await openAnother(t, opened(), {
      prepare: async (one) => {
        await one.route(/\/v3\/devices\?expand=manifest/, asked.resolve);
        one.on('websocket', (socket) =>
          socket.on('framereceived', ({ payload }) => {
            if (String(payload).includes('battery_low')) heard.resolve();
          }),
        );
      },
    });
    // The list of devices is there.
    const manifests = await asked.promise;
    await device.telemetry({ battery_soc: 5, alerts: ['battery_low'] });
    await heard.promise;
    await page.evaluate('new Promise((taken) => setTimeout(taken))');
    await manifests.continue();
    const card = page.locator('.device-card', { hasText: 'Kiln' });
    await card.locator('.chip', { hasText: 'Battery Low' }).waitFor();
    await device.telemetry({ alerts: [] });
    await card.locator('.chip').waitFor({ state: 'detached' });
    await device.leave();
  });
});
