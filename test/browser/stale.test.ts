/** Old values are not shown as current: late answers and messages, cut connections, machines that slept. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { liveLine } from './live-line.ts';
import { openAnother, useConsole } from './support.ts';

const TENANT = { name: 'tenant', password: 'a password of theirs' };
const TWO_HOURS_MS = 7_200_000;

const open = (page: Page, hash: string): Promise<unknown> =>
  page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

describe('what is old', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  test('a state that was not read yet is not shown as good', async (t) => {
    await opened().gateway.ok('INSTALLER', 'POST', '/v3/auth/users', { ...TENANT, role: 'USER' });
    let isBroken = true;
    const answer = (route: Route): Promise<void> =>
      isBroken
        ? route.fulfill({ status: 503, json: { errors: [{ code: 'unavailable', message: 'Not now.' }] } })
        : route.fulfill({ json: { alerts: [], total_count: 0 } });
    const page = await openAnother(t, opened(), {
      ...TENANT,
      prepare: (one) => one.route(/\/v3\/alerts\?/, answer),
    });
    await page.getByRole('alert').getByText('Not now.').waitFor();
    assert.equal(await page.getByText('Nothing needs attention.').count(), 0);
    isBroken = false;
    await open(page, '#/access');
    await page.getByRole('heading', { name: 'Access', exact: true }).waitFor();
    await open(page, '#/');
    await page.getByText('Nothing needs attention.').waitFor();
  });

  test('power flows a minute old are not shown as present', async (t) => {
    const device = await opened().gateway.provision('Roof');
    await device.connect();
    await device.telemetry({ pv_total_power: 5_200, battery_soc: 60 });
    let agoMs = 0;
    const page = await openAnother(t, opened(), {
      prepare: (one) =>
        one.route('**/v3/site/energy/now', async (route) => {
          const response = await route.fetch();
          const answer = (await response.json()) as { power: { at: string } };
          answer.power.at = new Date(Date.parse(answer.power.at) - agoMs).toISOString();
          await route.fulfill({ response, json: answer });
        }),
    });
    await page.getByRole('link', { name: 'Solar, 5.2 kW, delivering' }).waitFor();
    agoMs = 60_000;
    await page.getByRole('link', { name: 'Solar, –, no current value' }).waitFor();
    await device.leave();
  });

  test('a power some minutes old shows its age and still its direction', async (t) => {
    const { gateway } = opened();
    // A site has one grid: that of the device added first.
    const { devices } = await gateway.ok('OWNER', 'GET', '/v3/devices');
    for (const { id } of devices as { id: string }[])
      await gateway.call('INSTALLER', 'DELETE', `/v3/devices/${id}`);
    const device = await gateway.provision('Shed');
    await device.connect();
    await device.telemetry({ grid_total_power: -700, battery_soc: 60, battery_power: -900 });
    const page = await openAnother(t, opened(), {
      prepare: (one) =>
        one.route('**/v3/site/energy/now', async (route) => {
          const response = await route.fetch();
          const answer = (await response.json()) as { power: { sources: { age_s: number | null }[] } };
          for (const source of answer.power.sources) source.age_s = 125;
          await route.fulfill({ response, json: answer });
        }),
    });
    await page.getByLabel('Grid, 700 W, 2 min ago, exporting').waitFor();
    await page.getByLabel(/^Battery, 2 min ago, 900 W, \d+ % charged, charging$/).waitFor();
    await device.leave();
  });

  test('a device that appears while the list is read is read afterwards', async (t) => {
    const { gateway } = opened();
    const heard: string[] = [];
    const page = await openAnother(t, opened(), {
      prepare: async (one) => {
        await one.clock.install();
        one.on('websocket', (socket) =>
          socket.on('framereceived', ({ payload }) => heard.push(String(payload))),
        );
      },
    });
    await open(page, '#/rules');
    await page.getByRole('heading', { name: 'Rules', exact: true }).waitFor();
    const asked = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    await page.route(/\/v3\/devices\?expand=connectivity/, async (route) => {
      const response = await route.fetch();
      asked.resolve();
      await late.promise;
      await route.fulfill({ response });
    });
    await open(page, '#/');
    await asked.promise;
    const device = await gateway.provision('Latecomer');
    await device.connect();
    await until(() => heard.some((message) => message.includes(device.id)));
    // All that waits before it asks.
    await page.clock.runFor(2_000);
    late.resolve();
    await page.locator('[data-device=latecomer]').waitFor();
    await device.leave();
    await gateway.call('INSTALLER', 'DELETE', `/v3/devices/${device.id}`);
  });

  test('a message about connectivity outranks a list requested before it', async (t) => {
    const device = await opened().gateway.provision('Battery');
    const page = await openAnother(t, opened());
    const card = page.locator(`[data-device=${device.slug}]`);
    await card.getByText('OFFLINE').waitFor();
    await open(page, '#/rules');
    await page.getByRole('heading', { name: 'Rules', exact: true }).waitFor();
    const asked = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    await page.route(/\/v3\/devices\?expand=connectivity/, async (route) => {
      const response = await route.fetch();
      const answer = (await response.json()) as { devices: { name: string }[] };
      asked.resolve();
      await late.promise;
      // By another name it is seen that the answer is there.
      for (const one of answer.devices) if (one.name === 'Battery') one.name = 'Battery of the list';
      await route.fulfill({ response, json: answer });
    });
    await open(page, '#/');
    await asked.promise;
    await device.connect();
    await card.getByText('ONLINE').waitFor();
    late.resolve();
    await card.getByText('Battery of the list').waitFor();
    assert.equal(await card.locator('.badge').innerText(), 'ONLINE');
    await device.leave();
  });

  test('a late message does not set the clock back', async (t) => {
    const device = await opened().gateway.provision('Late');
    await device.connect();
    await device.telemetry({ timestamp: Math.floor(Date.now() / 1_000) - 600, battery_soc: 41 });
    const line = liveLine();
    const page = await openAnother(t, opened(), {
      prepare: async (one) => {
        await one.clock.install();
        await line.lay(one);
      },
    });
    const card = page.locator(`[data-device=${device.slug}]`);
    await card.getByText('ONLINE').waitFor();
    await card.getByText(/1\d min ago/).waitFor();
    // A quick answer would put the clock right again, before anybody looks.
    await page.route('**/v3/**', () => undefined);
    const sentMs = Date.now() - TWO_HOURS_MS;
    line.say({
      device_id: device.id,
      received_at: new Date(sentMs).toISOString(),
      timestamp: Math.floor(sentMs / 1_000),
      telemetry: { status: 'charging' },
    });
    await card.getByText('Charging').waitFor();
    assert.match(await card.innerText(), /1\d min ago/);
    await device.leave();
  });

  test('newer values replace those from the future after a clock is put back', async (t) => {
    const device = await opened().gateway.provision('Ahead');
    await device.connect();
    await device.telemetry({ battery_soc: 41 });
    const line = liveLine();
    const page = await openAnother(t, opened(), { prepare: line.lay });
    const card = page.locator(`[data-device=${device.slug}]`);
    await card.getByText('41').waitFor();
    const aheadMs = Date.now() + TWO_HOURS_MS;
    line.say({
      device_id: device.id,
      received_at: new Date(aheadMs).toISOString(),
      timestamp: Math.floor(aheadMs / 1_000),
      telemetry: { battery_soc: 90 },
    });
    await card.getByText('90').waitFor();
    await device.telemetry({ battery_soc: 52 });
    await card.getByText('52').waitFor();
    await until(async () => (await card.locator('.value.stale').count()) === 0);
    await device.leave();
  });

  test('an unknown state is not shown as good without a connection, and errors end when it returns', async (t) => {
    const rules = '/v3/site/rule_engine/rules';
    const script = { code: Buffer.from('-- nothing').toString('base64'), runtime_version: 'V3' };
    await opened().gateway.ok('OWNER', 'POST', rules, { slug: 'greeting', script });
    const line = liveLine();
    const page = await openAnother(t, opened(), {
      prepare: async (one) => {
        await one.clock.install();
        await line.lay(one);
      },
    });
    await open(page, '#/rules');
    const badge = page.locator('.rows .badge');
    await badge.waitFor();
    await line.cut(page);
    await badge.getByText('UNKNOWN').waitFor();
    await line.mend(page);
    await badge.getByText('UNKNOWN').waitFor({ state: 'detached' });
    await open(page, '#/alerts');
    const none = page.getByText('No active alerts');
    await none.waitFor();
    await line.cut(page);
    await none.waitFor({ state: 'detached' });
    await line.mend(page);
    await none.waitFor();
    await open(page, '#/');
    await page.locator('.devices').waitFor();
    await line.cut(page);
    await page.route(/\/v3\/devices\?expand=connectivity/, (route) => route.abort());
    await page.clock.runFor(61_000);
    const error = page.getByRole('alert').getByText('The gateway did not answer.').first();
    await error.waitFor();
    await page.unroute(/\/v3\/devices\?expand=connectivity/);
    await line.mend(page);
    await error.waitFor({ state: 'detached' });
    await opened().gateway.ok('OWNER', 'DELETE', `${rules}/greeting`);
  });

  test('an answer slower than the refresh interval is requested once, and drawn', async (t) => {
    let asked = 0;
    const late = Promise.withResolvers<void>();
    const page = await openAnother(t, opened(), {
      prepare: async (one) => {
        await one.clock.install();
        await one.route('**/v3/targets', async (route) => {
          asked++;
          await late.promise;
          await route.continue();
        });
      },
    });
    await open(page, '#/system/targets');
    await until(() => asked === 1);
    await page.clock.runFor(12_000);
    assert.equal(asked, 1);
    late.resolve();
    await page.getByText('Telemetry stays on this gateway').waitFor();
  });

  test('a page without a gateway recovers by itself when it is back', async (t) => {
    const page = await openAnother(t, opened());
    await page.route('**/v3/auth/me', (route) => route.abort());
    await page.reload();
    await page.getByText('The gateway is not responding').waitFor();
    await page.unroute('**/v3/auth/me');
    await page.locator('.nav').waitFor();
  });

  test('the page reconnects at once after the computer slept', async (t) => {
    const page = await openAnother(t, opened());
    await page.locator('[data-test=attention]').waitFor();
    await until(async () => (await page.getByText('No live connection').count()) === 0);
    const again = page.waitForEvent(
      'websocket',
      (socket) => new URL(socket.url()).pathname === '/v3/devices',
    );
    await page.evaluate(`(() => {
      const asleepMs = 60_000;
      const now = Date.now.bind(Date);
      Date.now = () => now() + asleepMs;
      document.dispatchEvent(new Event('visibilitychange'));
    })()`);
    await again;
  });

  test('the shown device and its properties are read again after a lost connection', async (t) => {
    const device = await opened().gateway.provision('Converter');
    await device.connect();
    await device.properties({ firmware_version: 'before 1.0' });
    await device.telemetry({ battery_soc: 50 });
    const line = liveLine();
    const page = await openAnother(t, opened(), { prepare: line.lay });
    await open(page, `#/devices/${device.slug}`);
    await page.getByText('before 1.0').waitFor();
    await line.cut(page);
    await device.properties({ firmware_version: 'after 2.0' });
    await line.mend(page);
    await page.getByText('after 2.0').waitFor();
    await device.leave();
  });

  test('alerts are followed again after a lost connection, although only their own stream fell silent', async (t) => {
    const device = await opened().gateway.provision('Alarmed');
    await device.connect();
    const line = liveLine();
    let lines = 0;
    const page = await openAnother(t, opened(), {
      prepare: async (one) => {
        await line.lay(one);
        await one.routeWebSocket(/\/v3\/alerts$/, (socket) => {
          const isSilent = lines++ === 0;
          const server = socket.connectToServer();
          server.onMessage((message) => {
            if (!isSilent) socket.send(message);
          });
        });
      },
    });
    await open(page, '#/alerts');
    await page.getByRole('heading', { name: 'Alerts', exact: true }).waitFor();
    await until(() => lines === 1);
    await line.cut(page);
    await line.mend(page);
    await until(() => lines > 1);
    await device.telemetry({ alerts: ['battery_low'] });
    await page.locator('[data-test=alerts]').getByText('Battery Low').waitFor();
    await device.leave();
  });

  test('a log shows no hidden gap after a lost connection', async (t) => {
    const device = await opened().gateway.provision('Talker');
    await device.connect();
    await device.log('before the hole', { severity: 'info', persist: true });
    const line = liveLine();
    const page = await openAnother(t, opened(), { prepare: line.lay });
    await open(page, `#/devices/${device.slug}/logs`);
    await page.getByText('before the hole').waitFor();
    // The page reads again when the line is lost: nothing of the hole is known by that.
    await page.route(/\/logs\?/, (route) => route.abort());
    await line.cut(page);
    for (let entry = 1; entry <= 60; entry++)
      await device.log(`entry ${entry}`, { severity: 'info', persist: true });
    await page.unroute(/\/logs\?/);
    await line.mend(page);
    await page.getByText('entry 60', { exact: true }).waitFor();
    await page.getByText('before the hole').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Older entries' }).click();
    await page.getByText('before the hole').waitFor();
    for (const entry of [9, 10, 11, 12])
      assert.equal(await page.getByText(`entry ${entry}`, { exact: true }).count(), 1);
    await device.leave();
  });

  test('a connected device that no longer sends needs attention', async (t) => {
    const { gateway } = opened();
    const device = await gateway.provision('Quiet');
    await device.connect();
    await device.telemetry({ alerts: ['made_up'] });
    const silent = {
      source: 'GATEWAY',
      name: 'silent',
      display_name: 'No longer sends data',
      severity: 'warning',
      raised_at: new Date(Date.now() - 3_600_000).toISOString(),
    };
    const page = await openAnother(t, opened(), {
      prepare: (one) =>
        one.route(/\/v3\/alerts\?/, async (route) => {
          // Rhythms are learned in days: the alert is played, beside one that there really is.
          const response = await route.fetch();
          const answer = (await response.json()) as { alerts: object[] };
          answer.alerts = answer.alerts.flatMap((alert) => [alert, { ...alert, id: 'other', ...silent }]);
          await route.fulfill({ response, json: answer });
        }),
    });
    const attention = page.locator('[data-test=attention]');
    await attention.getByText('Quiet is connected, but no longer sends data').waitFor();
    await attention.getByText('Quiet: made_up').waitFor();
    await open(page, '#/alerts');
    await page.locator('[data-test=alerts]').getByText('No longer sends data').first().waitFor();
    await device.telemetry({ alerts: [] });
    await device.leave();
  });

  test('an offline device shows what is known of it and where to look', async (t) => {
    const device = await opened().gateway.provision('Away');
    const page = await openAnother(t, opened());
    await open(page, `#/devices/${device.slug}`);
    const notice = page.locator('.notice.warning');
    await notice.getByText('No value has been received yet.').waitFor();
    await device.connect();
    await device.telemetry({ battery_soc: 50 });
    await notice.waitFor({ state: 'detached' });
    await device.leave();
    await notice.getByText(/^The last value was received \d+ s ago \(.+\)\. Check its power/).waitFor();
    // Removes statuses that the gateway sends before they change.
    await page.routeWebSocket(/\/v3\/devices(\?|$)/, (socket) => void socket.close());
    await page.route('**/v3/connection*', (route) => route.abort());
    await page.reload();
    await page.getByText('No live connection to the gateway.').waitFor();
    assert.equal(await notice.count(), 0);
  });
});
