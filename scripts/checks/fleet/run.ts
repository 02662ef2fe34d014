/** The fleet check: many gateways into one VictoriaMetrics, and every shipped query compared with what the boxes have. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../src/platform/clock/index.ts';
import { inParallel } from '../../support/gateway-client.ts';
import { freePorts, type Program, processorMs, anonymousBytes } from '../../support/gateway-process.ts';
import { Server, SERVER_PROGRAMS } from '../targets/programs.ts';
import { FleetBox } from './box.ts';
import { answersOf, ATTRIBUTES, type OwnSamples, type ShippedQuery, shippedQueries } from './queries.ts';

export interface FleetCheckOptions {
  gateways: number;
  /** For so long all of them send, before anything is asked. */
  seconds: number;
  program: Program;
  clock: Clock;
  say: (text: string) => void;
}

export interface FleetReport {
  boxes: number;
  /** Answers of queries for one box that were compared. */
  compared: number;
  samplesPerS: number;
  /** Processor time of the engine for each sample. */
  processorUs: number;
  engineBytes: number;
  boxBytes: number;
  bytesPerSample: number;
  problems: string[];
}

const OPENED_AT_ONCE = 3;
const POLL_MS = 200;
const WAIT_MS_MAX = 240_000;
const DEVICES_MAX = 5;
/** The clock of one box is so far behind: for whoever looks, nothing came of it since. */
const BEHIND_MS = -3_600_000;
/** Timestamps are whole seconds. */
const TOLERANCE = 1;

export const FLEET_ENGINE = SERVER_PROGRAMS.filter(({ name }) => name === 'VictoriaMetrics');

export async function fleetCheck(options: FleetCheckOptions): Promise<FleetReport> {
  const { clock, gateways, program, say } = options;
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  const [port = 0] = await freePorts(1);
  const [recipe] = FLEET_ENGINE;
  if (!recipe) throw new Error('there is no engine');
  const server = new Server(recipe, folder, port, clock);
  const boxes: FleetBox[] = [];
  try {
    await server.come();
    await inParallel(
      Array.from({ length: gateways }, (_, index) => index),
      OPENED_AT_ONCE,
      async (index) => {
        boxes[index] = await FleetBox.open({
          site: `Site ${index + 1}`,
          index,
          devices: 1 + (index % DEVICES_MAX),
          engine: server.origin,
          clockOffsetMs: index === 1 ? BEHIND_MS : 0,
          program,
          clock,
        });
      },
    );
    say(`${gateways} gateways send`);
    return await judge(options, { server, boxes, folder });
  } finally {
    await Promise.all(boxes.map((box) => box?.close()));
    await server.go('kill');
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Fleet {
  server: Server;
  boxes: readonly FleetBox[];
  folder: string;
}

async function judge(options: FleetCheckOptions, fleet: Fleet): Promise<FleetReport> {
  const { clock, seconds, say } = options;
  const { server, boxes, folder } = fleet;
  await until(clock, 'all devices are connected', async () => boxes.every((box) => box.areDevicesConnected));
  const { pid } = server;
  const before = { samples: await sentBy(boxes), usedMs: processorMs(pid), atMs: clock.monotonicMs() };
  await clock.sleep(seconds * 1_000);
  const samples = (await sentBy(boxes)) - before.samples;
  const processorUs = ((processorMs(pid) - before.usedMs) * 1_000) / samples;
  const samplesPerS = (samples / (clock.monotonicMs() - before.atMs)) * 1_000;
  const engineBytes = anonymousBytes(pid);
  const boxBytes = boxes.reduce((sum, box) => sum + box.anonymousBytes, 0) / boxes.length;
  const atS = Math.floor(clock.wallMs() / 1_000);
  await until(clock, 'the boxes have measured again', async () => {
    const later = await inParallel(boxes, OPENED_AT_ONCE, (box) => box.hasMeasuredSince(atS));
    return later.every(Boolean);
  });
  const own = await inParallel(boxes, OPENED_AT_ONCE, (box) => ownOf(box, atS));
  say('what the boxes have is read; the engine is asked');
  const { problems, compared } = await compare(clock, fleet, own, atS);
  await fetch(`${server.origin}/internal/force_flush`);
  const bytesPerSample = sizeOf(join(folder, server.recipe.program)) / (await sentBy(boxes));
  return {
    boxes: boxes.length,
    compared,
    samplesPerS,
    processorUs,
    engineBytes,
    boxBytes,
    bytesPerSample,
    problems,
  };
}

async function compare(clock: Clock, { server, boxes }: Fleet, own: readonly OwnSamples[], atS: number) {
  const problems: string[] = [];
  let compared = 0;
  await until(clock, 'the engine has what the boxes had', async () => {
    await fetch(`${server.origin}/internal/force_flush`);
    const newestS = await answersOf(server.origin, NEWEST, atS);
    return boxes.every(({ site }, index) => {
      const last = own[index]?.get('uptime_s');
      return last === undefined || (newestS.get(site) ?? 0) >= last.atS;
    });
  });
  const asked: (ShippedQuery & { answers: Map<string, number> })[] = [];
  for (const query of shippedQueries())
    asked.push({ ...query, answers: await answersOf(server.origin, query.expression, atS) });
  // What a clock that is behind measures meanwhile is of before that moment, too.
  const later = await inParallel(boxes, OPENED_AT_ONCE, (box) => ownOf(box, atS));
  for (const { name, expression, expected, answers } of asked) {
    for (const [index, { site }] of boxes.entries()) {
      const should = [own[index], later[index]].map((samples) =>
        expected(recent(samples ?? new Map(), name, atS), atS),
      );
      const is = answers.get(site);
      compared++;
      if (!isWithin(is, should))
        problems.push(`${name}: ${site} is ${is}, and should be ${should.join(' to ')} (${expression})`);
    }
    for (const site of answers.keys())
      if (!boxes.some((box) => box.site === site)) problems.push(`${name}: nobody is called ${site}`);
  }
  return { problems, compared };
}

function isWithin(is: number | undefined, should: readonly (number | undefined)[]): boolean {
  const known = should.filter((value) => value !== undefined);
  if (is === undefined || known.length < should.length) return is === undefined && known.length === 0;
  return is >= Math.min(...known) - TOLERANCE && is <= Math.max(...known) + TOLERANCE;
}

/** Newest time of a box, even one whose clock is behind. */
const NEWEST = 'max by (site) (tlast_over_time(telemetry_uptime_s[7d]))';

/** How far back a query of one moment looks; whoever looks for silence looks further. */
const LOOK_BACK_S = 300;
const SILENCE = new Set(['Silent for', 'BoxIsSilent']);

const recent = (own: OwnSamples, name: string, atS: number): OwnSamples =>
  SILENCE.has(name) ? own : new Map([...own].filter(([, sample]) => sample.atS > atS - LOOK_BACK_S));

async function ownOf(box: FleetBox, atS: number): Promise<OwnSamples> {
  const own = new Map<string, { atS: number; value: number }>();
  for (const attribute of ATTRIBUTES) {
    const sample = await box.own(attribute, atS);
    if (sample) own.set(attribute, sample);
  }
  return own;
}

async function sentBy(boxes: readonly FleetBox[]): Promise<number> {
  const counts = await Promise.all(boxes.map(async (box) => (await box.target()).sent_samples));
  return counts.reduce((sum, count) => sum + count, 0);
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

async function until(clock: Clock, what: string, isReached: () => Promise<boolean>): Promise<void> {
  const deadlineMs = clock.monotonicMs() + WAIT_MS_MAX;
  while (!(await isReached())) {
    if (clock.monotonicMs() > deadlineMs) throw new Error(`not reached: ${what}`);
    await clock.sleep(POLL_MS);
  }
}
