/** A gateway with its console in a real browser, claimed and logged in. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, type TestContext } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';
import { complaintsOf, enterBrowser, leaveBrowser, WIDE_SCREEN } from './browser.ts';

export const PASSWORD = 'correct horse battery';

/** As `npm run build` makes it, which every run of the tests begins with. */
export const CONSOLE_DIR = join(PROJECT_ROOT, 'dist', 'console');

export interface OpenConsole {
  gateway: TestGateway;
  browser: Browser;
  page: Page;
  /** What the page complained about. */
  complaints: string[];
  /** Goes to an address of the console. */
  open: (hash: string) => Promise<void>;
  /** Waits for a text. */
  says: (text: string | RegExp) => Promise<void>;
}

type Options =
  | Record<string, string>
  | ((owner: { after: (end: () => unknown) => void }) => Promise<Record<string, string>>);

/** Opened before the tests of a group, closed after them; claimed and logged in. @param environment as for a new box */
export function useConsole(environment: Options = {}): () => OpenConsole {
  const opened = useNewConsole(environment);
  before(() => claim(opened()));
  return opened;
}

/** The way of the first person at a new box. */
export async function claim({ page, gateway, says }: OpenConsole): Promise<void> {
  await page.fill('[name=claim_code]', readFileSync(join(gateway.dataDir, 'claim-code'), 'utf8').trim());
  await page.fill('[name=password]', PASSWORD);
  await page.fill('[name=repeated]', PASSWORD);
  await page.click('button[type=submit]');
  await says('No devices yet');
}

/** The console of a box that nobody has claimed yet. @param environment options, or what starts their devices first */
export function useNewConsole(environment: Options = {}): () => OpenConsole {
  const ends: (() => unknown)[] = [];
  let opened: OpenConsole;
  before(async () => {
    const owner = { after: (end: () => unknown) => void ends.push(end) };
    const gateway = await startTestGateway(owner, {
      consoleDir: CONSOLE_DIR,
      environment: typeof environment === 'function' ? await environment(owner) : environment,
    });
    const browser = await enterBrowser();
    ends.push(leaveBrowser);
    const page = await browser.newPage(WIDE_SCREEN);
    page.setDefaultTimeout(15_000);
    const complaints = complaintsOf(page);
    await page.goto(gateway.origin);
    const says = (text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor();
    const open = async (hash: string): Promise<void> => {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    };
    opened = { gateway, browser, page, complaints, open, says };
  });
  afterEach((t) => tellPages(t as TestContext, opened.browser));
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });
  return () => opened;
}

/** What the pages show after a test that failed: what was waited for says little about why it did not come. */
async function tellPages(t: TestContext, browser: Browser): Promise<void> {
  if (t.passed) return;
  for (const page of browser.contexts().flatMap((context) => context.pages())) {
    const shown = await page.evaluate('document.body.innerText');
    t.diagnostic(`at ${page.url()} stands: ${String(shown).replaceAll(/\s+/g, ' ')}`);
  }
}

interface Visitor {
  name?: string;
  password?: string;
  /** Before anything is asked for. */
  prepare?: (page: Page) => Promise<unknown>;
}

/** One more page of somebody who logs in. What it asks for can be held: no worker of the shell is in the way. */
export async function openAnother(
  t: { after: (end: () => Promise<void>) => void },
  { browser, gateway }: OpenConsole,
  { name = 'installer', password = PASSWORD, prepare }: Visitor = {},
): Promise<Page> {
  const context = await browser.newContext({
    ...WIDE_SCREEN,
    serviceWorkers: 'block',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  t.after(async () => {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  });
  page.setDefaultTimeout(15_000);
  await prepare?.(page);
  await page.goto(gateway.origin);
  await page.fill('[name=name]', name);
  await page.fill('[name=password]', password);
  await page.keyboard.press('Enter');
  await page.locator('.nav').waitFor();
  return page;
}

/** Sets a viewport and waits for the page to be laid out; for pictures kept beside the tests on demand. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['CONSOLE_PICTURES'];
  if (folder === undefined) return;
  const before = page.viewportSize();
  for (const width of [390, 1_440])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true });
    }
  await page.emulateMedia({ colorScheme: 'light' });
  if (before) await page.setViewportSize(before);
}
