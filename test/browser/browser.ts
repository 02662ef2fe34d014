/** A real browser for the tests of the console, and how people use it. */
import type { Browser, Page } from 'playwright-core';
import { findBrowser, openBrowser } from '../../scripts/support/browser.ts';

export { findBrowser, NO_BROWSER } from '../../scripts/support/browser.ts';

const STEPS_MAX = 80;

/** A wide screen. What moves on a page without end would be drawn anew sixty times a second, in every page that is open. */
export const WIDE_SCREEN = { viewport: { width: 1_280, height: 900 }, reducedMotion: 'reduce' } as const;

let shared: Browser | undefined;

/** The browser of all files of this process, with which it ends. What they open in it has nothing of each other. */
export async function enterBrowser(): Promise<Browser> {
  if (!shared?.isConnected()) shared = await openBrowser(findBrowser() ?? '');
  return shared;
}

/** Closes all that is open in it; to be called at the end of whatever entered it. */
export async function leaveBrowser(): Promise<void> {
  await Promise.all((shared?.contexts() ?? []).map((context) => context.close()));
}

/** Somebody without a mouse: goes from one control to the next, until it is the one, and types. */
export function keyboardOf(page: Page) {
  const isThere = (selector: string, text: string): Promise<unknown> =>
    page.evaluate(`(() => {
      let element = document.activeElement;
      while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
      return element?.matches(${JSON.stringify(selector)}) && element.textContent.trim().startsWith(${JSON.stringify(text)});
    })()`);
  const to = async (selector: string, text = ''): Promise<void> => {
    for (let step = 0; step < STEPS_MAX; step++) {
      if ((await isThere(selector, text)) === true) return;
      // In an editor Tab means something else: Escape closes what completes, once more lets the next Tab leave.
      if ((await isThere('.cm-content', '')) === true)
        for (let press = 0; press < 2; press++) await page.keyboard.press('Escape');
      await page.keyboard.press('Tab');
    }
    throw new Error(`no way by the keyboard to ${selector} ${text}`);
  };
  return {
    to,
    press: (key: string) => page.keyboard.press(key),
    /** Presses what is found. */
    choose: async (selector: string, text = ''): Promise<void> => {
      await to(selector, text);
      await page.keyboard.press('Enter');
    },
    /** Types in the place of what stands there. */
    write: async (selector: string, text: string): Promise<void> => {
      await to(selector);
      await page.keyboard.press('Control+A');
      await page.keyboard.type(text);
    },
  };
}

/** What the page complains about: refused resources, breaches of its policy, errors in its program. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      complaints.push(`${message.text()} ${message.location().url}`.trimEnd());
  });
  return complaints;
}
