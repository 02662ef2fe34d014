/** The oldest supported browsers show the console without any newer function, and still older ones get a sentence. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { OLDEST_BROWSERS } from '../../scripts/support/console-bundle.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';
import { complaintsOf, findBrowser, NO_BROWSER } from './browser.ts';
import { openAnew, PAGES, visit } from './pages.ts';
import { CONSOLE_DIR, openAnother, useConsole } from './support.ts';

/** What Safari 16.4, Chrome 111 or Firefox 115 lacks: the object, its expression, and the names in it. */
const NEWER: Readonly<Record<string, readonly string[]>> = {
  AbortSignal: ['any'],
  Array: ['fromAsync'],
  'ArrayBuffer.prototype': ['transfer', 'transferToFixedLength', 'resize'],
  CSS: ['highlights'],
  'Document.prototype': ['startViewTransition', 'caretPositionFromPoint', 'moveBefore'],
  'Element.prototype': ['checkVisibility', 'setHTMLUnsafe', 'getHTML', 'moveBefore', 'ariaNotify'],
  Error: ['isError'],
  'HTMLDialogElement.prototype': ['requestClose'],
  'HTMLElement.prototype': ['showPopover', 'hidePopover', 'togglePopover', 'popover', 'writingSuggestions'],
  'HTMLSelectElement.prototype': ['showPicker'],
  Intl: ['DurationFormat', 'Segmenter'],
  'Intl.DateTimeFormat.prototype': ['formatRange', 'formatRangeToParts'],
  'Intl.NumberFormat.prototype': ['formatRange', 'formatRangeToParts'],
  'Intl.Locale.prototype': ['getWeekInfo', 'getTimeZones', 'getTextInfo'],
  Map: ['groupBy'],
  'Map.prototype': ['getOrInsert', 'getOrInsertComputed'],
  Math: ['f16round', 'sumPrecise'],
  Object: ['groupBy'],
  Promise: ['withResolvers', 'try'],
  ReadableStream: ['from'],
  'ReadableStream.prototype': ['values', 'Symbol.asyncIterator'],
  RegExp: ['escape'],
  Response: ['json'],
  'Response.prototype': ['bytes'],
  'Request.prototype': ['bytes'],
  'Blob.prototype': ['bytes'],
  'Set.prototype': [
    'union',
    'intersection',
    'difference',
    'symmetricDifference',
    'isSubsetOf',
    'isSupersetOf',
    'isDisjointFrom',
  ],
  'String.prototype': ['isWellFormed', 'toWellFormed'],
  URL: ['canParse', 'parse'],
  'URLSearchParams.prototype': ['size'],
  Uint8Array: ['fromBase64', 'fromHex'],
  'Uint8Array.prototype': ['toBase64', 'toHex', 'setFromBase64', 'setFromHex'],
  'Object.getPrototypeOf(Object.getPrototypeOf([].values()))': [
    'map',
    'filter',
    'take',
    'drop',
    'flatMap',
    'reduce',
    'toArray',
    'forEach',
    'some',
    'every',
    'find',
  ],
  globalThis: [
    'ClipboardItem',
    'CloseWatcher',
    'Float16Array',
    'Iterator',
    'Temporal',
    'TrustedHTML',
    'WebSocketStream',
    'navigation',
    'requestIdleCallback',
    'scheduler',
    'trustedTypes',
    'onscrollend',
  ],
};

const TAKE_AWAY = Object.entries(NEWER)
  .flatMap(([place, names]) =>
    names.map((name) => `delete (${place})[${name.startsWith('Symbol.') ? name : `'${name}'`}]`),
  )
  .join(';');

/**
 * Words of the bundle that only stand there if something newer is used; methods of common names are found by
 * the types, and what the editor looks for before it uses it is no matter. */
const TELLING =
  /AbortSignal\.any|\.fromAsync\(|\.groupBy\(|\.withResolvers\(|Promise\.try\(|\.isSubsetOf\(|\.isSupersetOf\(|\.isDisjointFrom\(|\.symmetricDifference\(|URL\.(?:canParse|parse)\(|\.(?:is|to)WellFormed\(|\.startViewTransition\(|\.(?:to|from|setFrom)(?:Base64|Hex)\(|\.(?:show|hide|toggle)Popover\(|DurationFormat|\.requestClose\(|Response\.json\(|RegExp\.escape\(|\.checkVisibility\(|\.transferToFixedLength\(|Iterator\.from\(/g;

describe('older browsers', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_RULE_SANDBOX: 'true' });

  test('every page works without the functions that the oldest supported browsers lack', async (t) => {
    const { gateway } = opened();
    const device = await gateway.provision('Battery');
    await device.connect();
    await device.telemetry({ battery_soc: 50, grid_total_power: -300, alerts: ['battery_low'] });
    await gateway.ok('OWNER', 'POST', '/v3/site/rule_engine/rules', {
      slug: 'greeting',
      script: { code: Buffer.from('-- hello').toString('base64'), runtime_version: 'V3' },
    });
    let complaints: string[] = [];
    const page = await openAnother(t, opened(), {
      prepare: async (one) => {
        complaints = complaintsOf(one);
        await one.addInitScript(TAKE_AWAY);
      },
    });
    await page.locator('[data-device=battery] .value b').first().waitFor();
    assert.equal(await page.evaluate('typeof Map.groupBy + typeof AbortSignal.any'), 'undefinedundefined');
    for (const hash of PAGES) {
      await visit(page, hash);
      assert.equal(await page.getByText('could not be loaded').count(), 0, hash);
      assert.equal(await page.getByRole('alert').count(), 0, hash);
    }
    await device.leave();
    // Before the login nobody is known, which the browser notes; the test itself wants no worker.
    assert.deepEqual(
      complaints.filter((text) => !text.includes('401') && !text.includes('Service Worker')),
      [],
    );
  });

  test('the bundle uses no function that the oldest supported browsers lack', () => {
    const found = readdirSync(CONSOLE_DIR)
      .filter((name) => name.endsWith('.js'))
      .flatMap((name) =>
        (readFileSync(join(CONSOLE_DIR, name), 'utf8').match(TELLING) ?? []).map(
          (text) => `${name}: ${text}`,
        ),
      );
    assert.deepEqual(found, []);
  });

  test('the types of the console contain no JavaScript later than 2023', () => {
    const { compilerOptions } = JSON.parse(
      readFileSync(join(PROJECT_ROOT, 'src', 'console', 'tsconfig.json'), 'utf8'),
    ) as { compilerOptions: { lib: string[] } };
    assert.deepEqual(compilerOptions.lib, ['es2023', 'dom', 'dom.iterable']);
  });

  test('a browser that is too old is told so in one sentence with the oldest versions that work', async (t) => {
    const context = await opened().browser.newContext({ serviceWorkers: 'block' });
    t.after(() => context.close());
    const page = await context.newPage();
    await page.addInitScript('delete Array.prototype.toSorted');
    await page.goto(opened().gateway.origin);
    const sentence = page.locator('#too-old');
    await sentence.waitFor();
    assert.equal(await page.locator('#app').count(), 0);
    const text = (await sentence.innerText()).toLowerCase();
    for (const version of OLDEST_BROWSERS)
      assert.ok(text.includes(version.replace(/(?=\d)/, ' ')), `${text} names ${version}`);
  });

  test('a browser that cannot read the script is told so by the stylesheet alone', async (t) => {
    const context = await opened().browser.newContext({ serviceWorkers: 'block' });
    t.after(() => context.close());
    const page = await context.newPage();
    await page.route(/\.js$/, (route) => route.abort());
    // As in a browser that does not know what is asked for.
    await page.route(/\.css$/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.text()).replace('color-mix(', 'unknown-mix(') });
    });
    await page.goto(opened().gateway.origin);
    await page.locator('#too-old').waitFor();
    assert.equal(await page.locator('#app').isVisible(), false);
  });

  test('a fault of the page before its first request is not shown as an outage of the gateway', async (t) => {
    const context = await opened().browser.newContext({ serviceWorkers: 'block' });
    t.after(() => context.close());
    const page = await context.newPage();
    await page.addInitScript('globalThis.AbortController = undefined');
    await openAnew(page, opened().gateway.origin, '#/');
    await page.getByRole('heading', { name: 'This page has failed' }).waitFor();
    assert.equal(await page.getByText('is not responding').count(), 0);
  });
});
