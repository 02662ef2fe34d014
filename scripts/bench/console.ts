/**
 * The console at a site with many devices that measure all the time, in a real browser: how soon it is of use to somebody
 * who has just started the gateway, who has to log in and who is logged in, what it costs when nobody touches it, and how
 * soon a month and a year are drawn. Processor times of the page are those of its process, all threads.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import { PROGRAMS } from '../build.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { findBrowser, NO_BROWSER, openBrowser } from '../support/browser.ts';
import { bundleConsole } from '../support/console-bundle.ts';
import { createGatewayClient, type GatewayClient, uploadBlueprint } from '../support/gateway-client.ts';
import {
  createTokens,
  type GatewayHome,
  type GatewayProcess,
  processorMs,
  withGateway,
} from '../support/gateway-process.ts';
import { createLatencies } from '../support/latencies.ts';
import { crowdOf, type CrowdSession, join as joinCrowd } from '../support/mqtt-crowd.ts';
import { packPrograms } from '../support/packed-programs.ts';
import { provisionWorkload } from '../support/workload-blueprints.ts';
import { createWorkload, type Workload } from '../support/workload.ts';

interface Parameters {
  devices: number;
  /** Pause between two messages of a device. */
  everyMs: number;
  untouchedMs: number;
  starts: number;
  /** With a sample every quarter of an hour. */
  historyDays: number;
  [name: string]: number;
}

const SEED = 1;
const PASSWORD = 'correct horse battery';
const TOKENS = 4;
const STEP_S = 900;
const DAY_S = 86_400;
const IMPORTED_ROWS = 5_000;
const SLOWDOWN = 4;
const SERIES = ['ac_power', 'pv1_power', 'pv2_power', 'inverter_temperature'];
const NO_LIMIT = '100000';

export const benchmark: Benchmark<Parameters> = {
  name: 'console',
  describe:
    'The console in a browser beside many devices that measure: start, rest, a month and a year drawn.',
  seed: SEED,
  small: { devices: 15, everyMs: 500, untouchedMs: 1_000, starts: 1, historyDays: 40 },
  large: { devices: 1_000, everyMs: 10_000, untouchedMs: 20_000, starts: 5, historyDays: 365 },
  isApart: true,
  run: async (parameters, report) => {
    const executable = findBrowser();
    if (executable === undefined) throw new Error(NO_BROWSER);
    const clock = createSystemClock();
    const packed = await packPrograms(PROGRAMS);
    const browser = await openBrowser(executable);
    try {
      const files = await bundleConsole(join(packed.folder, 'dist', 'console'));
      const firstBytes = files.reduce((sum, { isFirst, gzipBytes }) => sum + (isFirst ? gzipBytes : 0), 0);
      report('first load, compressed', firstBytes / 1_000, 'kB');
      await withGateway({ clock, program: packed, environment: ENVIRONMENT }, (home, gateway) =>
        measure({ home, gateway, browser, clock, report, parameters }),
      );
    } finally {
      await browser.close();
      packed.remove();
      clock.close();
    }
    return undefined;
  },
};

const ENVIRONMENT = {
  GATEWAY_HTTP_REQUESTS_PER_SECOND: NO_LIMIT,
  GATEWAY_HTTP_REQUEST_BURST: NO_LIMIT,
  GATEWAY_MQTT_MESSAGES_PER_SECOND: NO_LIMIT,
  GATEWAY_MQTT_MESSAGE_BURST: NO_LIMIT,
};

interface Run {
  home: GatewayHome;
  gateway: GatewayProcess;
  browser: Browser;
  clock: Clock;
  report: Report;
  parameters: Parameters;
}

async function measure(run: Run): Promise<void> {
  const { home, clock, parameters } = run;
  const claimed = await claim(run);
  const tokens = await createTokens(home, 'OWNER', TOKENS);
  const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
  const workload = createWorkload({ seed: SEED, devices: parameters.devices, missing: 0 });
  const provisioned = await provisionWorkload(client, workload, (zip) =>
    uploadBlueprint(home.baseUrl, tokens[0] ?? '', zip),
  );
  const sessions: CrowdSession[] = [];
  for (const member of crowdOf(provisioned.map(({ device }) => device.config)))
    sessions.push(await joinCrowd(member, clock));
  const slug = provisioned[0]?.device.slug ?? '';
  await importHistory(client, slug, parameters.historyDays, clock);
  const stop = keepMeasuring(sessions, workload, parameters.everyMs, clock);
  try {
    await measureStarts(run, claimed);
    await measureHistory(run, claimed, provisioned[0]?.device.id ?? '');
  } finally {
    stop();
    for (const session of sessions) session.leave();
  }
}

/** A page of somebody who is logged in. */
async function claim(run: Run): Promise<Page> {
  const { home } = run;
  const page = await newPage(run);
  tellStarts(run.report, 'claim page, right after the start of the gateway', [
    await measureStart(page, run, '[name=claim_code]'),
  ]);
  const code = readFileSync(join(home.environment['GATEWAY_DATA_DIR'] ?? '', 'claim-code'), 'utf8').trim();
  await page.fill('[name=claim_code]', code);
  await page.fill('[name=password]', PASSWORD);
  await page.fill('[name=repeated]', PASSWORD);
  await page.click('button[type=submit]');
  await page.locator('.nav').waitFor();
  return page;
}

/** With cookies of its own. */
async function newPage({ browser }: Run): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } });
  page.setDefaultTimeout(60_000);
  return page;
}

/** Each device in its turn, evenly over the pause. Returns the end. */
function keepMeasuring(
  sessions: readonly CrowdSession[],
  workload: Workload,
  everyMs: number,
  clock: Clock,
): () => void {
  let index = 0;
  const startMs = clock.monotonicMs();
  let sent = 0;
  const timer = clock.setRepeating(10, () => {
    const due = ((clock.monotonicMs() - startMs) / everyMs) * sessions.length;
    for (; sent < due; sent++) {
      index = sent % sessions.length;
      if (index === 0) workload.tick();
      const device = workload.devices[index];
      if (device) sessions[index]?.measure(withoutTime(workload.message(device)));
    }
  });
  return () => timer.cancel();
}

/** Measured now, by the gateway's clock. */
function withoutTime(message: string): string {
  const { timestamp: _timestamp, ...values } = JSON.parse(message) as Record<string, unknown>;
  return JSON.stringify(values);
}

async function importHistory(client: GatewayClient, slug: string, days: number, clock: Clock): Promise<void> {
  const endS = Math.floor(clock.wallMs() / 1_000) - STEP_S;
  const head = ['ts', ...SERIES.map((name) => `telemetry=${name} device=${slug}`)].join(',');
  const count = Math.floor((days * DAY_S) / STEP_S);
  for (let from = 0; from < count; from += IMPORTED_ROWS) {
    const rows = Array.from({ length: Math.min(IMPORTED_ROWS, count - from) }, (_, offset) => {
      const at = from + offset;
      const wave = Math.round(3_000 + 2_500 * Math.sin(at / 15));
      return [endS - at * STEP_S, wave, wave / 2, wave / 3, 20 + (at % 40)].join(',');
    });
    await client.json({ method: 'POST', path: '/telemetry/import', csv: `${head}\n${rows.join('\n')}\n` });
  }
}

interface Start {
  paintMs: number;
  usableMs: number;
  processorMs: number;
  gatewayMs: number;
  requests: number;
  receivedBytes: number;
}

async function measureStarts(run: Run, page: Page): Promise<void> {
  const { report, parameters } = run;
  const tell = async (title: string, of: Page, usable: string, slowdown?: number): Promise<void> => {
    const starts: Start[] = [];
    for (let round = 0; round < parameters.starts; round++)
      starts.push(await measureStart(of, run, usable, slowdown));
    tellStarts(report, title, starts);
  };
  const stranger = await newPage(run);
  await tell('login page', stranger, '[name=password]');
  await stranger.close();
  await tell('start', page, ROW);
  await tell(`start with ${SLOWDOWN} times less processor`, page, ROW, SLOWDOWN);
  await page.goto(run.home.baseUrl);
  await page.locator(ROW).first().waitFor();
  await page.waitForLoadState('networkidle');
  report('elements', Number(await page.evaluate('document.querySelectorAll("*").length')));
  await measureUntouched(run, page);
}

const ROW = '.device-table [data-device], .device-card';

function tellStarts(report: Report, title: string, starts: readonly Start[]): void {
  const median = (of: (start: Start) => number): number => {
    const figures = createLatencies();
    for (const start of starts) figures.add(of(start));
    return figures.quantileMs(0.5) ?? 0;
  };
  report(
    `${title}: first contentful paint`,
    median(({ paintMs }) => paintMs),
    'ms',
  );
  report(
    `${title}: usable`,
    median(({ usableMs }) => usableMs),
    'ms',
  );
  report(
    `${title}: processor of the page until then`,
    median((start) => start.processorMs),
    'ms',
  );
  report(
    `${title}: processor of the gateway until then`,
    median((start) => start.gatewayMs),
    'ms',
  );
  report(`${title}: requests`, Math.max(...starts.map(({ requests }) => requests)));
  report(`${title}: received`, median(({ receivedBytes }) => receivedBytes) / 1_000, 'kB');
}

/** As for the first time: nothing is cached. Of use is the page once it has the element `usable`. */
async function measureStart(page: Page, run: Run, usable: string, slowdown = 1): Promise<Start> {
  const { home, browser, gateway } = run;
  await page.goto('about:blank');
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  await session.send('Network.setBypassServiceWorker', { bypass: true });
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
  let requests = 0;
  let receivedBytes = 0;
  session.on('Network.requestWillBeSent', () => void requests++);
  session.on('Network.webSocketCreated', () => void requests++);
  session.on('Network.loadingFinished', ({ encodedDataLength }) => void (receivedBytes += encodedDataLength));
  const before = await pageProcessors(browser);
  const gatewayBeforeMs = processorMs(gateway.pid);
  await page.goto(home.baseUrl, { waitUntil: 'commit' });
  await page.locator(usable).first().waitFor();
  const figures = (await page.evaluate(FIGURES)) as { paintMs: number; usableMs: number };
  const used = await processorSince(browser, before);
  const gatewayMs = processorMs(gateway.pid) - gatewayBeforeMs;
  await page.waitForLoadState('networkidle');
  await session.send('Emulation.setCPUThrottlingRate', { rate: 1 });
  await session.detach();
  return { ...figures, processorMs: used, gatewayMs, requests, receivedBytes };
}

const FIGURES = `({
  paintMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
  usableMs: performance.now(),
})`;

/** Ids of the processes that hold pages. */
async function pageProcesses(browser: Browser): Promise<number[]> {
  const session: CDPSession = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
}

/** Processor time so far of each process that holds a page. */
async function pageProcessors(browser: Browser): Promise<ReadonlyMap<number, number>> {
  return new Map((await pageProcesses(browser)).map((pid) => [pid, processorMs(pid)]));
}

/** Processor time since then; a page of another site gets another process. */
async function processorSince(browser: Browser, before: ReadonlyMap<number, number>): Promise<number> {
  let sumMs = 0;
  for (const [pid, atMs] of await pageProcessors(browser)) sumMs += atMs - (before.get(pid) ?? 0);
  return sumMs;
}

async function measureUntouched({ browser, clock, parameters, report }: Run, page: Page): Promise<void> {
  const before = await pageProcessors(browser);
  const startMs = clock.monotonicMs();
  await clock.sleep(parameters.untouchedMs);
  const tookMs = clock.monotonicMs() - startMs;
  const messagesPerS = (1_000 * parameters.devices) / parameters.everyMs;
  report(
    `untouched, ${messagesPerS} messages per second`,
    ((await processorSince(browser, before)) / tookMs) * 100,
    '%',
  );
  await page.locator(ROW).first().waitFor();
}

/** A month and a year, each when it is asked for first and once more. */
async function measureHistory(run: Run, page: Page, deviceId: string): Promise<void> {
  const names = SERIES.map((name) => `${deviceId}.${name}`).join('~');
  await page.goto(`${run.home.baseUrl}/#/history/day/${names}`);
  await page.locator('[data-test=chart] canvas').waitFor();
  for (const time of ['first', 'again'])
    for (const range of ['Month', 'Year']) {
      const { drawnMs, pageMs, gatewayMs } = await measureRange(run, page, range);
      const title = `${range.toLowerCase()} of ${SERIES.length} series, ${time}`;
      run.report(`${title}: drawn after the click`, drawnMs, 'ms');
      run.report(`${title}: processor of the page`, pageMs, 'ms');
      run.report(`${title}: processor of the gateway`, gatewayMs, 'ms');
    }
}

/** From the click until two frames after the answer. */
async function measureRange({ browser, gateway }: Run, page: Page, range: string) {
  await page.waitForLoadState('networkidle');
  await page.evaluate(NOTE_CLICK);
  const before = await pageProcessors(browser);
  const gatewayBeforeMs = processorMs(gateway.pid);
  const answered = page.waitForResponse((response) => response.url().includes('query_timeseries'));
  await page.getByRole('button', { name: range, exact: true }).click();
  await (await answered).finished();
  const drawnMs = Number(await page.evaluate(AFTER_TWO_FRAMES));
  const pageMs = await processorSince(browser, before);
  return { drawnMs, pageMs, gatewayMs: processorMs(gateway.pid) - gatewayBeforeMs };
}

const NOTE_CLICK = `addEventListener('click', () => { globalThis.clickedMs = performance.now() }, { capture: true, once: true })`;
const AFTER_TWO_FRAMES = `new Promise((resolve) =>
  requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - clickedMs))))`;
