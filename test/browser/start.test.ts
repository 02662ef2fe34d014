/** How much the console asks for and receives at its start, however many devices and blueprints there are, in a real browser. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manifestWith, zipOf } from '../capabilities/blueprints/support.ts';
import { findBrowser, NO_BROWSER, WIDE_SCREEN } from './browser.ts';
import { useConsole } from './support.ts';

const REQUESTS_MAX = 14;
/** A second page of the list, and a stream of the devices in sight alone. */
const REQUESTS_OF_MANY_MAX = 16;
/** With headers, as sent, to a browser that keeps nothing. */
const LOGIN_BYTES_MAX = 62_000;
const OVERVIEW_BYTES_MAX = 85_000;
const DEVICES = 1_000;
const BLUEPRINTS = 12;
const METER = 'telemetry:\n  power:\n    type: float\n    display_name: Power\n';
const AT_ONCE = 50;
/** Read again every few seconds: on a slow machine before all else is there. */
const REPEATED = '/v3/site/energy/now';
/** A browser with a window asks again for it, for the tab. */
const ICON = /^\/icon-/;
const OVERVIEW = ['[data-device=battery] .value', '.books-numbers', '[data-test=first-steps]'];
const OVERVIEW_OF_MANY = ['.device-table [data-device]', '.books-numbers', '[data-test=first-steps]'];
/** A start so slow that the console helps itself, as without its live stream, asks twice. */
const STARTS = 3;

describe('the start of the console', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole();

  /** Starts anew; resolves with all that the page asked the gateway for until it shows what it has. */
  async function start(shown: readonly string[]): Promise<string[]> {
    const { page, gateway } = opened();
    await page.goto('about:blank');
    const asked: string[] = [];
    const note = (one: { url(): string }): void => void asked.push(one.url().replace(/^\w+:\/\/[^/]+/, ''));
    page.on('request', note);
    page.on('websocket', note);
    await page.goto(gateway.origin);
    for (const selector of shown) await page.locator(selector).first().waitFor();
    await page.waitForLoadState('networkidle');
    page.off('request', note);
    page.off('websocket', note);
    const isOnce = (path: string): boolean => path === REPEATED || ICON.test(path);
    return asked.filter((path, index) => !isOnce(path) || asked.indexOf(path) === index);
  }

  /** The shortest of some starts, or the first that is short enough. */
  async function shortStart(shown: readonly string[], requestsMax = REQUESTS_MAX): Promise<string[]> {
    let asked = await start(shown);
    for (let round = 1; round < STARTS && asked.length > requestsMax; round++) {
      const again = await start(shown);
      if (again.length < asked.length) asked = again;
    }
    assert.ok(asked.length <= requestsMax, `${asked.length}:\n${asked.join('\n')}`);
    return asked;
  }

  test('the console makes few requests at a site with some devices, its energy and a user who is logged in', async () => {
    const { gateway } = opened();
    const device = await gateway.provision('Battery');
    await device.connect();
    await device.telemetry({
      pv_total_power: 500,
      battery_soc: 50,
      grid_total_power: 10,
      load_total_power: 9,
    });
    const asked = await shortStart(OVERVIEW);
    assert.ok(asked.includes('/v3/devices?changes=true'), 'the live stream counts, too');
    assert.ok(
      asked.some((path) => path.startsWith('/styles-')),
      'and so do files',
    );
  });

  test('the console receives few bytes at the login and on the overview, in a browser without a cache', async (t) => {
    const { browser, gateway, page } = opened();
    type State = Awaited<ReturnType<ReturnType<typeof page.context>['storageState']>>;
    const receivedBytes = async (
      selectors: readonly string[],
      storageState: State | undefined,
    ): Promise<number> => {
      const context = await browser.newContext({
        ...WIDE_SCREEN,
        serviceWorkers: 'block',
        ...(storageState && { storageState }),
      });
      t.after(() => context.close());
      const visited = await context.newPage();
      const network = await context.newCDPSession(visited);
      await network.send('Network.enable');
      let bytes = 0;
      const repeated = new Set<string>();
      const seen = new Set<string>();
      network.on('Network.requestWillBeSent', ({ requestId, request: { url } }) => {
        if (url.endsWith(REPEATED) && seen.has(url)) repeated.add(requestId);
        seen.add(url);
      });
      network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
        if (!repeated.has(requestId)) bytes += encodedDataLength;
      });
      await visited.goto(gateway.origin);
      for (const selector of selectors) await visited.locator(selector).first().waitFor();
      await visited.waitForLoadState('networkidle');
      return bytes;
    };
    const login = await receivedBytes(['[name=password]'], undefined);
    assert.ok(login <= LOGIN_BYTES_MAX, `${login} bytes at the login`);
    const overview = await receivedBytes(OVERVIEW, await page.context().storageState());
    assert.ok(overview <= OVERVIEW_BYTES_MAX, `${overview} bytes on the overview`);
    assert.ok(overview > login, `${overview} bytes on the overview, ${login} at the login`);
  });

  test(`the console makes two more requests at a site with ${DEVICES} devices of ${BLUEPRINTS} blueprints`, async () => {
    const { gateway, page } = opened();
    const blueprints: string[] = [];
    for (let index = 0; index < BLUEPRINTS; index++) {
      const zip = await zipOf({ 'manifest.yml': manifestWith(METER) });
      const { blueprint } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip, {
        'Content-Type': 'application/zip',
      });
      blueprints.push((blueprint as { id: string }).id);
    }
    const add = async (index: number): Promise<void> => {
      const { device_id: id } = await gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', {
        name: `Meter ${index}`,
      });
      await gateway.ok('OWNER', 'POST', `/v3/devices/${String(id)}/assign_blueprint`, {
        blueprint_id: blueprints[index % BLUEPRINTS],
      });
    };
    for (let from = 0; from < DEVICES; from += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => add(from + index)));
    await shortStart(OVERVIEW_OF_MANY, REQUESTS_OF_MANY_MAX);
    await page.getByText(/^100[0-9] devices$/).waitFor();
    const kinds = await page.getByLabel('Type').locator('option').allTextContents();
    assert.ok(kinds.includes('Sample'), kinds.join());
  });

  test('the console makes one more request in German, whose words are a file of their own', async (t) => {
    const { page } = opened();
    t.after(() => page.evaluate("localStorage.removeItem('language')"));
    await page.evaluate("localStorage.setItem('language', 'de')");
    const asked = await shortStart(OVERVIEW_OF_MANY, REQUESTS_OF_MANY_MAX + 1);
    assert.equal(await page.evaluate('document.documentElement.lang'), 'de');
    assert.ok(
      asked.some((path) => /^\/de-\w+\.js$/.test(path)),
      asked.join(),
    );
  });

  test('the console asks first who is logged in, and asks for a login after a logout', async () => {
    const { page } = opened();
    const asked = await start(['.nav']);
    assert.ok(!asked.includes('/v3/auth/claim'));
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('Forgot your password?').waitFor();
    assert.ok((await start(['[name=password]'])).includes('/v3/auth/claim'));
  });
});
