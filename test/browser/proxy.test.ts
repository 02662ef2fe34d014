/** The console behind a reverse proxy that changes requests, takes no WebSockets, or answers itself. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { PASSWORD, useConsole } from './support.ts';

const HTML = '<html><head><title>nginx</title></head><body>nginx</body></html>';

describe('the console behind a proxy', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();
  /** Answers these paths itself, with this status. */
  let own: { path: RegExp; status: number } | undefined;
  let passesUpgrades = true;
  const proxy = createServer((incoming, outgoing) => {
    if (own?.path.test(incoming.url ?? '')) {
      incoming.resume();
      outgoing.writeHead(own.status, { 'Content-Type': 'text/html' }).end(HTML);
      return;
    }
    incoming.pipe(
      passOn(incoming, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      }),
    );
  });
  /** As nginx does it without any setting: the host is that of the gateway. */
  function passOn(
    incoming: IncomingMessage,
    onAnswer: (answer: IncomingMessage) => void,
  ): ReturnType<typeof request> {
    const { host, hostname, port } = new URL(opened().gateway.origin);
    const headers = { ...incoming.headers, host };
    const { url: path = '/', method = 'GET' } = incoming;
    return request({ hostname, port, path, method, headers }, onAnswer);
  }
  proxy.on('upgrade', (incoming, socket) => {
    socket.on('error', () => undefined);
    if (!passesUpgrades) return void socket.end('HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n');
    const asked = passOn(incoming, (answer) => {
      socket.end(`HTTP/1.1 ${answer.statusCode} Refused\r\nContent-Length: 0\r\n\r\n`);
    });
    asked.on('upgrade', (answer, upstream) => {
      const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
      socket.pipe(upstream).pipe(socket);
    });
    asked.on('error', () => socket.destroy());
    asked.end();
  });
  let address = '';
  before(async () => {
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });
  after(() => {
    proxy.close();
    proxy.closeAllConnections();
  });

  async function logIn(t: { after: (end: () => Promise<void>) => void }): Promise<Page> {
    const context = await opened().browser.newContext({ serviceWorkers: 'block' });
    t.after(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    await page.goto(address);
    await page.fill('[name=name]', 'installer');
    await page.fill('[name=password]', PASSWORD);
    await page.keyboard.press('Enter');
    await page.locator('.nav').waitFor();
    return page;
  }

  test('the page names the option to set when the gateway does not know its address, and still shows values', async (t) => {
    const device = await opened().gateway.provision('Roof');
    await device.connect();
    await device.telemetry({ battery_soc: 41 });
    // Browsers leave out the sign of the same origin on plain HTTP of other machines, as here by the proxy.
    const page = await logIn(t);
    await page
      .getByText(`The address ${address} is not known to the gateway; set public_host to 127.0.0.1.`)
      .waitFor();
    await page.evaluate(`location.hash = '#/devices/${device.slug}'`);
    const value = page.locator('.value', { hasText: '41' }).first();
    await value.waitFor();
    assert.equal(await page.locator('.value.stale').count(), 0);
    assert.equal(await page.getByText('No live connection').count(), 0);
    await device.telemetry({ battery_soc: 42 });
    await page.locator('.value', { hasText: '42' }).first().waitFor();
    await device.leave();
  });

  test('the page says that the proxy passes no WebSockets, and still shows an alert', async (t) => {
    const device = await opened().gateway.provision('Shed');
    await device.connect();
    passesUpgrades = false;
    t.after(() => void (passesUpgrades = true));
    const page = await logIn(t);
    await page.route('**/v3/connection*', async (route) => {
      const response = await route.fetch();
      const { connection } = (await response.json()) as { connection: object };
      await route.fulfill({ response, json: { connection: { ...connection, is_known_origin: true } } });
    });
    await page.reload();
    await page.getByText('The proxy does not pass WebSockets; values come every 10 s.').waitFor();
    await device.telemetry({ alerts: ['too_hot'] });
    await page.locator('[data-test=attention]').getByText('Shed: too_hot').waitFor();
    await device.telemetry({ alerts: [] });
    await device.leave();
  });

  test('the page says that an upload was too large for the proxy, not for the gateway', async (t) => {
    const page = await logIn(t);
    own = { path: /upload/, status: 413 };
    t.after(() => void (own = undefined));
    await page.evaluate("location.hash = '#/blueprints'");
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles({
        name: 'large.zip',
        mimeType: 'application/zip',
        buffer: Buffer.alloc(100),
      });
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
    await page.getByText('The proxy refused the upload as too large (413).').first().waitFor();
  });

  test('the page says at its start that the proxy does not reach the gateway', async (t) => {
    const context = await opened().browser.newContext({ serviceWorkers: 'block' });
    t.after(() => context.close());
    own = { path: /^\/v3\//, status: 502 };
    t.after(() => void (own = undefined));
    const page = await context.newPage();
    await page.goto(address);
    await page.getByText('The proxy answered with status 502: it does not reach the gateway.').waitFor();
  });

  test('the page says that it cannot be served below a path, where its files are not found', async (t) => {
    const context = await opened().browser.newContext({ serviceWorkers: 'block' });
    t.after(() => context.close());
    own = { path: /\.(js|css)$/, status: 404 };
    t.after(() => void (own = undefined));
    const page = await context.newPage();
    await page.goto(address);
    await page.getByText('The files of this page are not at this address.').waitFor();
  });
});
