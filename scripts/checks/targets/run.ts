/** The target check: a day of workload W through a gateway to real servers, all of which go away and come back at random. */
import type { Clock } from '../../../src/platform/clock/index.ts';
import { type DeviceLink, openDeviceLink } from '../../support/device-link.ts';
import { freePorts, type Program } from '../../support/gateway-process.ts';
import { createRandom, type Random } from '../../support/random.ts';
import { createWorkload, type Workload } from '../../support/workload.ts';
import { UpstreamClient, type RequestSums } from './upstream-client.ts';
import { SeriesChecksums, type Series, seriesOf } from './series-checksums.ts';
import { bookOfEngine, bookOfGateway, differences, type Range } from './compare.ts';
import { SendingDevice } from './devices.ts';
import { isInstalled, Server, SERVER_PROGRAMS } from './programs.ts';
import { type Scheduled, scheduleOf } from './schedule.ts';
import { Site, SITE_NAME, type TargetOnWire } from './site.ts';

export interface TargetCheckOptions {
  seed: number;
  devices: number;
  /** Duration of the workload. */
  seconds: number;
  /** Seconds of the workload in each second, at most. */
  speed: number;
  program: Program;
  /** What targets missed goes behind what is new. */
  isNewestFirst: boolean;
  clock: Clock;
  say: (text: string) => void;
}

export interface TargetCheckReport {
  values: number;
  happenings: number;
  /** Values that came to the subscriber more than once, each as it was. */
  repeated: number;
  messages: number;
  requests: RequestSums | undefined;
  tookMs: number;
  problems: string[];
}

const POLL_MS = 5;
const STATUS_POLL_MS = 200;
/** Without progress for so long it will not end. */
const STILL_MS_MAX = 180_000;
const SAID_EVERY_S = 3_600;

export async function targetCheck(options: TargetCheckOptions): Promise<TargetCheckReport> {
  const check = await Check.open(options);
  try {
    return await check.run();
  } finally {
    await check.close();
  }
}

class Check {
  readonly #options: TargetCheckOptions;
  readonly #random: Random;
  readonly #workload: Workload;
  readonly #series: Series[];
  readonly #range: Range;
  readonly #sent: SeriesChecksums;
  readonly #site: Site;
  readonly #servers: Server[];
  readonly #startedMs: number;
  #devices: SendingDevice[] = [];
  #commanded: DeviceLink | undefined;
  #upstream: { client: UpstreamClient; checksums: SeriesChecksums } | undefined;
  #values = 0;

  private constructor(
    options: TargetCheckOptions,
    parts: { random: Random; workload: Workload; site: Site; servers: Server[]; startS: number },
  ) {
    this.#options = options;
    this.#random = parts.random;
    this.#workload = parts.workload;
    this.#site = parts.site;
    this.#servers = parts.servers;
    this.#series = seriesOf(parts.workload);
    const { startS } = parts;
    this.#range = { seriesCount: this.#series.length, startS, seconds: options.seconds };
    this.#sent = this.#newChecksums();
    this.#startedMs = options.clock.monotonicMs();
  }

  static async open(options: TargetCheckOptions): Promise<Check> {
    const { clock, seed, seconds, say } = options;
    const random = createRandom(seed);
    const startS = Math.floor(clock.wallMs() / 1_000) - seconds;
    const workload = createWorkload({ seed, devices: options.devices, startS });
    const site = await Site.open({ ...options, random: random.fork(1), workload });
    const installed = SERVER_PROGRAMS.filter(isInstalled);
    for (const { program, debianPackage } of SERVER_PROGRAMS.filter((each) => !installed.includes(each)))
      say(`${program} is not installed (package ${debianPackage}): not checked`);
    const ports = await freePorts(installed.length);
    const servers = installed.map(
      (recipe, index) => new Server(recipe, site.folder, ports[index] ?? 0, clock),
    );
    const check = new Check(options, { random, workload, site, servers, startS });
    try {
      await check.#prepare();
      return check;
    } catch (error) {
      await check.close();
      throw error;
    }
  }

  async run(): Promise<TargetCheckReport> {
    const { say } = this.#options;
    const schedule = scheduleOf({
      seconds: this.#options.seconds,
      servers: this.#servers.map(({ recipe }) => recipe.name),
      hasPowerCuts: this.#site.hasDisk,
      random: this.#random.fork(2),
    });
    if (!this.#site.hasDisk) say('without power cuts: no disk of its own here');
    this.#upstream?.client.begin();
    await this.#sendAll([...schedule]);
    await Promise.all(this.#servers.map((server) => server.settled()));
    await this.#until('every message is acknowledged', async () =>
      this.#devices.reduce((sum, { waiting }) => sum + waiting, 0),
    );
    await this.#upstream?.client.end();
    say('all is sent; the targets catch up');
    await this.#caughtUp();
    return this.#judge(schedule.length);
  }

  async close(): Promise<void> {
    this.#upstream?.client.close();
    await Promise.all(this.#devices.map((device) => device.close()));
    await this.#commanded?.close(0);
    await Promise.all(this.#servers.map((server) => server.go('kill')));
    await this.#site.close();
  }

  async #prepare(): Promise<void> {
    const { clock } = this.#options;
    await Promise.all(this.#servers.map((server) => server.come()));
    const commanded = await this.#site.provisionCommanded();
    this.#devices = this.#site.devices.map(({ config }) => new SendingDevice(config, clock));
    const broker = this.#servers.find(({ recipe }) => recipe.name === 'Mosquitto');
    if (broker) await this.#openAbove(broker, commanded);
    for (const server of this.#servers) await this.#site.addTarget(server, commanded.device.id);
    await this.#until('devices and targets are connected', async () => {
      const away = this.#devices.filter(({ isConnected }) => !isConnected).length;
      const targets = await this.#site.targets();
      return away + targets.filter(({ status }) => status.commands?.connected === false).length;
    });
    await broker?.save();
  }

  async #openAbove(
    { port }: Server,
    { device, name, tagArgument }: Awaited<ReturnType<Site['provisionCommanded']>>,
  ): Promise<void> {
    const { clock } = this.#options;
    const ofDevice = (index: number): [string, ReadonlyMap<string, Series>] => [
      this.#site.devices[index]?.slug ?? '',
      new Map(this.#series.filter((one) => one.device === index).map((one) => [one.attribute, one] as const)),
    ];
    const checksums = this.#newChecksums();
    const client = new UpstreamClient({
      port,
      site: SITE_NAME,
      clock,
      random: this.#random.fork(3),
      checksums,
      series: new Map(this.#devices.map((_, index) => ofDevice(index))),
      command: { device: device.slug, name, tagArgument },
    });
    this.#upstream = { client, checksums };
    await client.subscribe();
    const link = openDeviceLink({
      config: device.config,
      clock,
      qos: 1,
      reconnectDelayMs: 100,
      onConnected: () => undefined,
      onLost: () => undefined,
      onCommand: (request) => {
        const body = { id: request.id, state: 'completed', payload: { result: client.arrived(request) } };
        // A caller without an answer reports it: the device carried it out once.
        link.publish('commandResponse', body).catch(() => undefined);
      },
      onUnreadable: () => undefined,
    });
    this.#commanded = link;
  }

  async #sendAll(schedule: Scheduled[]): Promise<void> {
    const { clock, seconds, speed, say } = this.#options;
    const startedMs = clock.monotonicMs();
    let restedMs = 0;
    for (let second = 0; second < seconds; second++) {
      while ((schedule[0]?.atS ?? seconds) <= second) {
        const beganMs = clock.monotonicMs();
        await this.#happen(schedule.shift() as Scheduled);
        restedMs += clock.monotonicMs() - beganMs;
      }
      const dueMs = startedMs + restedMs + (second * 1_000) / speed;
      while (clock.monotonicMs() < dueMs || this.#devices.some(({ isBusy }) => isBusy))
        await clock.sleep(POLL_MS);
      this.#tick();
      if (second > 0 && second % SAID_EVERY_S === 0)
        say(
          `${second / SAID_EVERY_S} h of the workload after ${Math.round((clock.monotonicMs() - startedMs) / 1_000)} s`,
        );
    }
  }

  #tick(): void {
    this.#workload.tick();
    for (const [index, device] of this.#workload.devices.entries()) {
      if (!device.isPresent) continue;
      const values: Record<string, unknown> = {};
      for (const [offset, { name }] of device.signals.entries()) {
        const value = this.#workload.value(device.first + offset);
        values[name] = value;
        this.#sent.note(this.#series[device.first + offset] as Series, this.#workload.nowS, value);
        this.#values++;
      }
      this.#devices[index]?.send(this.#workload.nowS, values);
    }
  }

  async #happen(happening: Scheduled): Promise<void> {
    const { say } = this.#options;
    const at = `${(happening.atS / 3_600).toFixed(2)} h:`;
    if (happening.kind === 'back' || happening.kind === 'gone') {
      const server = this.#servers.find(({ recipe }) => recipe.name === happening.server);
      if (happening.kind === 'back') return void server?.come();
      say(`${at} ${happening.server} is away for ${happening.seconds} s (${happening.absence})`);
      return void server?.go(happening.absence);
    }
    say(`${at} ${happening.kind}`);
    if (happening.kind === 'power-cut') return this.#site.cutPower();
    return this.#site.end(happening.kind === 'gateway-kill' ? 'SIGKILL' : 'SIGTERM');
  }

  async #caughtUp(): Promise<void> {
    const isThere = ({ status }: TargetOnWire): boolean =>
      status.state === 'CURRENT' && status.lag_samples === 0;
    await this.#until('the targets have all', async () => {
      const targets = await this.#site.targets();
      const waiting = targets.filter((target) => !isThere(target));
      return waiting.length === 0
        ? 0
        : waiting.map(({ name, status }) => `${name} ${status.state} ${status.lag_samples}`).join();
    });
    // What the broker still has for the subscriber.
    const above = this.#upstream;
    if (!above) return;
    const { clock } = this.#options;
    for (let before = -1; before !== above.client.messages; await clock.sleep(QUIET_MS))
      before = above.client.messages;
  }

  async #judge(happenings: number): Promise<TargetCheckReport> {
    const { client, devices } = this.#site;
    const range = this.#range;
    const found: [who: string, checksums: SeriesChecksums, series: Series[]][] = [
      ['the gateway', await bookOfGateway(client, devices, this.#series, range), this.#series],
    ];
    for (const server of this.#servers.filter(({ recipe }) => recipe.name !== 'Mosquitto')) {
      const { name } = server.recipe;
      // It knows numbers only.
      const series = this.#series.filter(({ form }) => name !== 'VictoriaMetrics' || form !== 'state');
      found.push([name, await bookOfEngine(server, devices, series, range), series]);
    }
    if (this.#upstream) found.push(['the subscriber', this.#upstream.checksums, this.#series]);
    const problems = found.flatMap(([who, checksums, series]) => [
      ...differences(who, checksums, this.#sent, series),
      ...checksums.contradictions.map((contradiction) => `${who}: ${contradiction}`),
    ]);
    for (const { name, status } of await this.#site.targets())
      if (status.lost_samples > 0) problems.push(`${name} counts ${status.lost_samples} lost samples`);
    const requests = this.#upstream?.client.sums();
    problems.push(...(this.#upstream?.client.problems() ?? []));
    if (requests?.carriedOut === 0) problems.push('no command was carried out');
    return {
      values: this.#values,
      happenings,
      repeated: this.#upstream?.checksums.repeated ?? 0,
      messages: this.#upstream?.client.messages ?? 0,
      requests,
      tookMs: this.#options.clock.monotonicMs() - this.#startedMs,
      problems,
    };
  }

  #newChecksums(): SeriesChecksums {
    return new SeriesChecksums(this.#range.seriesCount, this.#range.startS, this.#range.seconds);
  }

  /** @param left what is missing: 0 when nothing is, and another answer whenever it goes on */
  async #until(what: string, left: () => Promise<number | string>): Promise<void> {
    const { clock } = this.#options;
    let last: number | string | undefined;
    let movedMs = clock.monotonicMs();
    for (;;) {
      const now = await left();
      if (now === 0) return;
      if (now !== last) movedMs = clock.monotonicMs();
      last = now;
      if (clock.monotonicMs() - movedMs > STILL_MS_MAX) throw new Error(`not reached: ${what} (${now})`);
      await clock.sleep(STATUS_POLL_MS);
    }
  }
}

/** So long nothing came: nothing waits. */
const QUIET_MS = 3_000;
