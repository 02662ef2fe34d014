/** By the keyboard alone: every control of every page and dialog is reached once, is seen, has a name, and is left again. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { PAGES, visit } from './pages.ts';
import { openAnother, useConsole } from './support.ts';

/** Steps of the Tab key beyond the number of controls: an editor takes some to leave, and a trap shows. */
const STEPS_MORE = 6;
/** What opens a dialog: it says that it asks first, or for more. */
const OPENERS = /…$|^(Add (target|channel)|Edit|Delete)$/;
const CLOSERS = /^(Cancel|Close)$/;

/** Put into the page: what can be reached in a place, in which order, and how the focus looks on it. */
const HELPERS = `globalThis.walk = (() => {
  const SELECTOR = 'a[href],button,input,select,textarea,summary,[tabindex]';
  const isEditor = (one) => one.shadowRoot?.querySelector('.cm-content') !== undefined && one.shadowRoot !== null;
  const inOrder = (root) => [...root.querySelectorAll('*')].filter((one) => one.matches(SELECTOR) || isEditor(one));
  const canBeReached = (one) =>
    (isEditor(one) || one.tabIndex >= 0) && !one.matches(':disabled') && one.checkVisibility({ visibilityProperty: true });
  const nameOf = (one) => \`\${one.tagName.toLowerCase()} \${(one.ariaLabel ?? one.name ?? '') || one.textContent.trim().slice(0, 40)}\`;
  const LOOKS = ['outlineStyle', 'outlineWidth', 'outlineColor', 'boxShadow', 'borderColor', 'stroke', 'strokeWidth', 'backgroundColor', 'clip', 'clipPath', 'transform', 'top', 'left'];
  const looksOf = (one) =>
    [one.closest('.drop'), one, ...(one.shadowRoot ?? one).querySelectorAll('*')]
      .filter((part) => part !== null)
      .slice(0, 12)
      .map((part) => { const style = getComputedStyle(part); return LOOKS.map((name) => style[name]).join(); })
      .join(';');
  let all = [], before, beforeLooks;
  return {
    begin(selector) {
      const root = document.querySelector(selector);
      all = inOrder(root).filter(canBeReached);
      before = undefined;
      if (selector !== 'body') return all.length;
      const start = document.createElement('span');
      start.tabIndex = -1;
      start.id = 'walk-start';
      document.getElementById('walk-start')?.remove();
      document.body.prepend(start);
      start.focus();
      return all.length;
    },
    /** Where the keyboard is now, and whether the one before looks otherwise without it. */
    look() {
      const isElsewhere = before !== undefined && before !== document.activeElement;
      const unseen = isElsewhere && beforeLooks === looksOf(before) ? nameOf(before) : undefined;
      const now = document.activeElement === document.body ? undefined : document.activeElement;
      // Only the first stop of a control with several is judged.
      if (now !== before) beforeLooks = now && looksOf(now);
      before = now;
      return { unseen, place: now ? all.indexOf(now) : -1, isNowhere: !now, isEditor: !!now && isEditor(now), name: now ? nameOf(now) : '' };
    },
    /** It is drawn now. */
    settle: () => { beforeLooks = looksOf(before); },
    nameAt: (place) => nameOf(all[place]),
  };
})()`;

interface Look {
  unseen: string | undefined;
  place: number;
  isNowhere: boolean;
  isEditor: boolean;
  name: string;
}

/** Goes through a place with the Tab key; what is wrong with the way. */
async function walk(page: Page, place: 'body' | 'dialog[open]'): Promise<string[]> {
  const count = Number(await page.evaluate(`walk.begin(${JSON.stringify(place)})`));
  const look = async (): Promise<Look> => (await page.evaluate('walk.look()')) as Look;
  const wrong: string[] = [];
  const reached: number[] = [];
  const take = ({ unseen, place: at, isNowhere, name }: Look): boolean => {
    if (unseen !== undefined) wrong.push(`the focus is not seen on ${unseen}`);
    // A browser may stop at a dialog that scrolls, too, before it begins anew.
    if (isNowhere || (at < 0 && reached.length >= count && place !== 'body')) return false;
    if (at < 0) wrong.push(`${name} has the focus, and is nothing to be reached`);
    if (reached.includes(at)) return false;
    if (at >= 0 && at < (reached.at(-1) ?? -1) && place === 'body') wrong.push(`${name} comes too late`);
    if (at >= 0) reached.push(at);
    return true;
  };
  let now = await look();
  if (place !== 'body') take(now);
  for (let step = 0; step < count + STEPS_MORE; step++) {
    if (now.isEditor) {
      await page.locator('.cm-focused').waitFor();
      await page.evaluate('walk.settle()');
      // In an editor Tab means something else.
      for (let press = 0; press < 2; press++) await page.keyboard.press('Escape');
    }
    await page.keyboard.press('Tab');
    if (now.isEditor) await page.locator('.cm-focused').waitFor({ state: 'detached' });
    now = await look();
    if (!take(now) && reached.length >= count) break;
  }
  for (let at = 0; at < count; at++)
    if (!reached.includes(at)) wrong.push(`no way to ${String(await page.evaluate(`walk.nameAt(${at})`))}`);
  return wrong;
}

/** What can have the focus and says nothing to those who do not see it. */
async function nameless(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  await session.detach();
  return nodes
    .filter(({ ignored, role, properties = [] }) => {
      const isFocusable = properties.some(({ name, value }) => name === 'focusable' && value.value === true);
      return (
        !ignored && isFocusable && !/^(RootWebArea|main|generic|none|heading)$/.test(String(role?.value))
      );
    })
    .filter(({ name }) => String(name?.value ?? '').trim() === '')
    .map(({ role, backendDOMNodeId }) => `${role?.value} ${backendDOMNodeId} has no name`);
}

describe('the keyboard alone', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_RULE_SANDBOX: 'true' });

  /** A page beside which something of each kind is there. */
  async function furnished(t: { after: (end: () => Promise<void>) => void }): Promise<Page> {
    const { gateway } = opened();
    const { devices } = await gateway.ok('OWNER', 'GET', '/v3/devices');
    if (!(devices as { slug: string }[]).some(({ slug }) => slug === 'battery')) {
      const device = await gateway.provision('Battery');
      t.after(() => device.leave());
      await device.connect();
      await device.telemetry({ battery_soc: 50, grid_total_power: -300, alerts: ['battery_low'] });
      await gateway.ok('OWNER', 'POST', '/v3/site/rule_engine/rules', {
        slug: 'greeting',
        script: { code: Buffer.from('-- hello').toString('base64'), runtime_version: 'V3' },
      });
      await gateway.ok('INSTALLER', 'POST', '/v3/io_ports', {
        name: 'di-1',
        kind: 'DIGITAL_INPUT',
        path: '/dev/gpiochip0',
        line: 1,
      });
      await gateway.ok('OWNER', 'POST', '/v3/targets', {
        name: 'Nobody',
        kind: 'INFLUXDB',
        // What it could not take would come up beside whatever is looked at.
        enabled: false,
        influxdb: { url: 'http://127.0.0.1:9/write' },
      });
      await gateway.ok('OWNER', 'POST', '/v3/notification_channels', {
        name: 'Phones',
        kind: 'NTFY',
        ntfy: { topic: 'depot-4711', server: 'http://127.0.0.1:9' },
      });
      await gateway.ok('INSTALLER', 'POST', '/v3/auth/tokens', { name: 'dashboard', role: 'READONLY' });
    }
    return openAnother(t, opened(), {
      prepare: async (one) => {
        // As most people have it, with all that moves.
        await one.emulateMedia({ reducedMotion: 'no-preference' });
        await one.addInitScript(HELPERS);
      },
    });
  }

  test('every control of every page is reached in order, once, is seen, and has a name', async (t) => {
    const page = await furnished(t);
    const wrong: string[] = [];
    for (const hash of PAGES) {
      await visit(page, hash);
      for (const fault of [...(await walk(page, 'body')), ...(await nameless(page))])
        wrong.push(`${hash}: ${fault}`);
    }
    assert.deepEqual(wrong, []);
  });

  test('Escape and then Tab leave an editor, however long that takes; Tab alone does not', async (t) => {
    const page = await furnished(t);
    await page.clock.install();
    await visit(page, '#/new-rule/script');
    const focused = page.locator('.cm-focused');
    await page.locator('.cm-content').click();
    await focused.waitFor();
    await page.keyboard.press('Escape');
    await page.clock.fastForward(60_000);
    await page.keyboard.press('Tab');
    await focused.waitFor({ state: 'detached' });
    await page.keyboard.press('Shift+Tab');
    await focused.waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    assert.equal(await focused.count(), 1);
  });

  test('every dialog traps the focus and returns it to the control that opened it', async (t) => {
    const page = await furnished(t);
    const dialog = page.locator('dialog[open]');
    const wrong: string[] = [];
    let count = 0;
    for (const hash of PAGES) {
      await visit(page, hash);
      const openers = page
        .locator('main button[type=button]:enabled')
        .filter({ hasText: OPENERS, visible: true });
      for (let index = 0; index < (await openers.count()); index++) {
        const opener = openers.nth(index);
        const name = `${hash} ${(await opener.getAttribute('aria-label')) ?? (await opener.innerText())}`;
        await opener.press('Enter');
        await dialog.waitFor();
        count++;
        if (
          (await page.evaluate(`document.querySelector('dialog[open]').contains(document.activeElement)`)) !==
          true
        )
          wrong.push(`${name}: the keyboard is not in it`);
        for (const fault of [...(await walk(page, 'dialog[open]')), ...(await nameless(page))])
          wrong.push(`${name}: ${fault}`);
        // A phone has no Escape.
        if ((await page.getByRole('dialog').getByRole('button', { name: CLOSERS }).count()) === 0)
          wrong.push(`${name}: no button closes it`);
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
        await until(async () => (await page.evaluate('document.activeElement !== document.body')) === true);
        if (!(await opener.evaluate((element) => element === element.ownerDocument.activeElement)))
          wrong.push(`${name}: the keyboard is elsewhere after it`);
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(count > 10, `${count} dialogs`);
  });

  test('a dialog takes the focus when it appears and returns it when it goes', async (t) => {
    const page = await furnished(t);
    await visit(page, '#/access');
    const opener = page.getByRole('button', { name: 'Add user' });
    await opener.focus();
    // Whatever is pressed comes after what was drawn.
    await page.evaluate(`globalThis.places = [];
      globalThis.opener = document.activeElement;
      new MutationObserver(() => {
        const dialog = document.querySelector('dialog');
        const now = document.activeElement;
        const place = dialog?.contains(now) ? 'dialog' : now === opener ? 'opener' : 'elsewhere';
        if (dialog !== null || places.length > 0) places.push(place);
      }).observe(document.body, { childList: true, subtree: true })`);
    await page.keyboard.press('Enter');
    await page.locator('dialog[open]').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    const places = (await page.evaluate('places')) as string[];
    assert.deepEqual([places.at(0), places.at(-1)], ['dialog', 'opener']);
  });

  test('a dialog closed by Escape opens again by a key pressed right afterwards', async (t) => {
    const page = await furnished(t);
    await visit(page, '#/access');
    await page.getByRole('button', { name: 'Add user' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('dialog[open]').waitFor();
    // Both wait while the page is busy, and come within one frame: a browser reports a dialog that it has closed with the next one.
    const busy = page.evaluate('const endMs = performance.now() + 200; while (performance.now() < endMs);');
    await Promise.all(['Escape', 'Enter'].map((key) => page.keyboard.press(key)));
    await busy;
    await page.locator('dialog[open]').waitFor();
  });

  test('a dialog does not take the focus back from the controls of the browser', async (t) => {
    const page = await furnished(t);
    await visit(page, '#/rules/greeting');
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.locator('dialog[open]').waitFor();
    await page.evaluate('document.activeElement.blur()');
    // The page behind it is drawn anew with each answer.
    for (let answers = 0; answers < 2; answers++) await page.waitForResponse(/rule_engine\/rules\/[^/]+$/);
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
    assert.equal(await page.evaluate('document.activeElement === document.body'), true);
  });

  test('the first stop of a page leads past the menu', async (t) => {
    const page = await furnished(t);
    await visit(page, '#/access');
    await page.evaluate(`walk.begin('body')`);
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(`document.activeElement.closest('main') !== null`), true);
    assert.ok(page.url().endsWith('#/access'));
  });
});
