/** What moves on a page: by the browser's compositor alone, and only while somebody may look. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { findBrowser, NO_BROWSER } from './browser.ts';
import { PAGES, visit } from './pages.ts';
import { openAnother, useConsole } from './support.ts';

/** After so long without a touch nothing moves. */
const UNTOUCHED_MS = 31_000;
const MEASURED_MS = 2_000;
/** What a page does once, such as its last drawing or collecting garbage, does not keep it busy. */
const ROUNDS = 3;
/** Share of one core. */
const BUSY_MAX = 0.01;
const OF_THE_COMPOSITOR = ['transform', 'opacity', 'offset', 'computedOffset', 'easing', 'composite'];

/** Notes the properties of every movement that a page starts. */
const NOTE_MOVEMENTS = `
  globalThis.moved = [];
  const animate = Element.prototype.animate;
  Element.prototype.animate = function (frames, options) {
    moved.push({ properties: frames.flatMap((frame) => Object.keys(frame)), iterations: options.iterations ?? 1 });
    return animate.call(this, frames, options);
  };`;

/** Style changes under the pointer do not count. */
const RUNNING_DROPS = `document.getAnimations().filter(({ effect }) => effect.target.matches('.drop-place')).length`;

interface Movement {
  properties: string[];
  iterations: number;
}

const movementsOf = (page: Page): Promise<Movement[]> => page.evaluate('moved') as Promise<Movement[]>;

describe('motion', { skip: findBrowser() === undefined && NO_BROWSER }, () => {
  const opened = useConsole({ GATEWAY_RULE_SANDBOX: 'true' });

  /** Something that flows, for one test. */
  async function battery(t: TestContext): Promise<void> {
    const { gateway } = opened();
    const device = await gateway.provision('Battery');
    t.after(async () => {
      await device.leave();
      await gateway.ok('OWNER', 'DELETE', `/v3/devices/${device.slug}`);
    });
    await device.connect();
    await device.telemetry({ pv_total_power: 5_200, grid_total_power: -1_000, battery_soc: 64 });
  }

  /** The overview of a site with flows, whose time passes by hand. */
  async function flowing(
    t: TestContext,
    reducedMotion: 'reduce' | 'no-preference' = 'no-preference',
  ): Promise<Page> {
    await battery(t);
    return openAnother(t, opened(), {
      prepare: async (page) => {
        await page.emulateMedia({ reducedMotion });
        await page.addInitScript(NOTE_MOVEMENTS);
        await page.clock.install();
      },
    });
  }

  /** Lets time pass in steps, so that what is asked for meanwhile is answered. */
  async function pass(page: Page, spanMs: number): Promise<void> {
    for (let passedMs = 0; passedMs < spanMs; passedMs += 1_000) {
      await page.clock.runFor(1_000);
      await page.evaluate('fetch("/healthz").then((answer) => answer.text())');
    }
  }

  test('a drop runs along each flow once per new value, moved by transform and opacity alone', async (t) => {
    const page = await flowing(t);
    await until(async () => {
      await pass(page, 1_000);
      return (await movementsOf(page)).length >= 3;
    });
    const movements = await movementsOf(page);
    assert.deepEqual(
      movements.flatMap(({ properties }) => properties).filter((name) => !OF_THE_COMPOSITOR.includes(name)),
      [],
    );
    assert.ok(movements.every(({ iterations }) => iterations === 1));
    await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))');
    assert.equal(await page.evaluate(`getComputedStyle(document.querySelector('.drop-place')).opacity`), '0');
  });

  test('stylesheets animate nothing but transform and opacity', async () => {
    const properties = await opened().page.evaluate(`[...document.styleSheets].flatMap((sheet) =>
      [...sheet.cssRules].filter((rule) => rule instanceof CSSKeyframesRule)
        .flatMap((rule) => [...rule.cssRules].flatMap(({ style }) => [...style])))`);
    const others = (properties as string[]).filter((name) => name !== 'transform' && name !== 'opacity');
    assert.deepEqual(others, []);
  });

  test('nothing moves on a page that is hidden, scrolled away, or untouched for 30 s, until it is touched', async (t) => {
    const page = await flowing(t);
    const start = async (): Promise<void> => {
      const before = (await movementsOf(page)).length;
      await until(async () => {
        await page.mouse.move(Math.random() * 200, 100);
        await pass(page, 1_000);
        return (await movementsOf(page)).length > before;
      });
    };
    const assertStill = async (): Promise<void> => {
      const before = (await movementsOf(page)).length;
      await pass(page, 12_000);
      assert.equal((await movementsOf(page)).length, before);
    };
    await start();
    await page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`);
    assert.equal(await page.evaluate(RUNNING_DROPS), 0);
    await assertStill();
    await page.evaluate(
      `delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))`,
    );
    await start();
    // A slow machine draws it later: the page knows of it before this observer, which came after its own.
    await page.evaluate(`new Promise((left) => {
      const stage = document.querySelector('.flow-stage');
      stage.style.marginTop = '5000px';
      new IntersectionObserver(([entry]) => entry.isIntersecting || left()).observe(stage);
    })`);
    await assertStill();
    await page.evaluate(`document.querySelector('.flow-stage').style.marginTop = ''`);
    await start();
    await pass(page, UNTOUCHED_MS);
    await assertStill();
    await start();
  });

  test('nothing moves for people who prefer no motion', async (t) => {
    const page = await flowing(t, 'reduce');
    await page.locator('.drop-place').first().waitFor({ state: 'attached' });
    await pass(page, 12_000);
    assert.deepEqual(await movementsOf(page), []);
  });

  test('every page that nobody touches keeps its thread busy for less than 1 % of a core', async (t) => {
    const { gateway } = opened();
    await battery(t);
    await gateway.ok('OWNER', 'POST', '/v3/site/rule_engine/rules', {
      slug: 'greeting',
      script: { code: Buffer.from('-- hello').toString('base64'), runtime_version: 'V3' },
    });
    const page = await openAnother(t, opened(), {
      prepare: (one) => one.emulateMedia({ reducedMotion: 'no-preference' }),
    });
    const measuring = await page.context().newCDPSession(page);
    // What the thread works: on a busy machine its tasks take longer than that.
    await measuring.send('Performance.enable', { timeDomain: 'threadTicks' });
    const busyS = async (): Promise<number> => {
      const { metrics } = await measuring.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
    };
    await page.locator('.drop-place').first().waitFor({ state: 'attached' });
    const busy: string[] = [];
    // The overview, on which drops run, comes last: until then nobody has touched anything for long enough.
    const pages = [...PAGES.filter((hash) => hash !== '#/'), '#/'];
    assert.ok((pages.length - 1) * MEASURED_MS > UNTOUCHED_MS);
    for (const hash of pages) {
      await visit(page, hash);
      let share = Number.POSITIVE_INFINITY;
      for (let round = 0; round < ROUNDS && !(share < BUSY_MAX); round++) {
        const beforeS = await busyS();
        await page.waitForTimeout(MEASURED_MS);
        share = ((await busyS()) - beforeS) / (MEASURED_MS / 1_000);
      }
      if (!(share < BUSY_MAX)) busy.push(`${hash}: ${(100 * share).toFixed(2)} %`);
    }
    assert.deepEqual(busy, []);
  });
});
