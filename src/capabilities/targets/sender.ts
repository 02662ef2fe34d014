/**
 * The sender of one target: reads what came after its cursor, sends it, and moves the cursor once the target has
 * acknowledged it. It queues nothing: an outage may last as long as the history reaches back.
 *
 *   telemetry.changes(cursor) ─▶ chosen, thinned ─▶ sink (acknowledged) ─▶ cursor
 */
import { DoublingPause } from '../../lib/doubling-pause.ts';
import type { Limits } from '../../lib/limits.ts';
import type { EpochMs, EpochS, MonotonicMs } from '../../lib/time.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { processorMs } from '../../platform/threads/index.ts';
import type { Changes, Telemetry } from '../telemetry/index.ts';
import {
  backlogOrderOf,
  carriesTelemetry,
  type DeviceLabels,
  type LabelledRecord,
  type LabelledSamples,
  type Sink,
  TargetFailure,
  type TargetRecord,
  type TargetStatus,
} from './model.ts';
import { isSamePlace, RecentPositions } from './recent-positions.ts';
import type { ReadRecords, Records } from './records/records.ts';
import { SampleFilter } from './sample-filter.ts';
import type { Cursor } from './store.ts';

interface SenderOptions {
  record: TargetRecord;
  cursor: Cursor;
  sink: Sink;
  telemetry: Pick<Telemetry, 'changes'>;
  records: Pick<Records, 'read'>;
  /** Undefined when the device was deleted; its samples are skipped then. */
  labelsOf: (deviceId: string) => { slug: string; labels: DeviceLabels } | undefined;
  site: () => { name: string };
  /** Resolves once the cursor is on the disk. */
  saveCursor: (cursor: Cursor) => Promise<void>;
  clock: Clock;
  log: Log;
  limits: Limits['targets'];
}

/**
 * Samples that were read and not acknowledged yet; kept for retries, because thinning may see each sample once only.
 */
interface Prepared {
  changes: Changes;
  samples: LabelledSamples[];
  read: ReadRecords;
  records: LabelledRecord[];
}

const NO_CHANGES: Omit<Changes, 'position'> = {
  series: [],
  pendingSamples: 0,
  pendingSinceS: undefined,
  lostSamples: 0,
  hasSkipped: false,
};

/** Samples measured before are not sent. */
const fromS = ({ selection }: TargetRecord): EpochS => Math.floor(selection.fromMs / 1_000);

export class Sender {
  readonly #options: SenderOptions;
  #filter: SampleFilter;
  readonly #bucket: TokenBucket;
  readonly #pause: DoublingPause;
  readonly #throughput: Throughput;
  readonly #stop = new AbortController();
  /** Position up to which was sent. */
  #cursor: Cursor;
  /** Position up to which the target has acknowledged; it is behind `#cursor` while the sink gathers. */
  #kept: Cursor;
  #gathered: { samples: number; records: number; sinceS: EpochS | undefined } | undefined;
  #prepared: Prepared | undefined;
  #lag: { samples: number; records: number; sinceS: EpochS | undefined } = {
    samples: 0,
    records: 0,
    sinceS: undefined,
  };
  #state: TargetStatus['state'] = 'STARTING';
  #lastError: TargetStatus['lastError'];
  #lastRefusal: TargetStatus['lastRefusal'];
  #lastSentAtMs: EpochMs | undefined;
  #ended: Promise<void> = Promise.resolve();
  #measuring: Timer | undefined;
  readonly #recentPositions: RecentPositions;
  /** Reconnects of the sink when they were last read. */
  #reconnects = 0;

  constructor(options: SenderOptions) {
    this.#options = options;
    const { record, clock, limits, cursor } = options;
    this.#cursor = structuredClone(cursor);
    this.#kept = structuredClone(cursor);
    this.#filter = new SampleFilter(record.selection);
    const { bytesPerSecondMax } = record.selection;
    this.#bucket = new TokenBucket(bytesPerSecondMax, bytesPerSecondMax, clock.monotonicMs());
    this.#pause = new DoublingPause({ firstMs: limits.retryFirstMs, maxMs: limits.retryMaxMs });
    this.#throughput = new Throughput(clock);
    this.#recentPositions = new RecentPositions(limits.resendMs);
  }

  get cursor(): Cursor {
    return this.#kept;
  }

  /**
   * Position from which the next run continues. It sends again what the target acknowledged last, because the target may
   * crash together with the gateway, unseen.
   */
  get resumption(): Cursor {
    const { position, records } = (!this.#options.sink.keep && this.#recentPositions.oldest) || this.#kept;
    return { position, records, totals: this.#kept.totals };
  }

  start(): void {
    this.#ended = this.#run();
    const { clock, limits } = this.#options;
    this.#measuring = clock.setRepeating(limits.lagIntervalMs, () => void this.#measureLag());
  }

  /** Resolves once no delivery is under way. */
  async stop(): Promise<void> {
    const { clock, limits, sink } = this.#options;
    this.#stop.abort();
    this.#measuring?.cancel();
    const timer = clock.setTimer(limits.stopMs, () => sink.close());
    await this.#ended;
    timer.cancel();
    // Samples that are not kept now are read again, and so is a delivery that was cut short: half of it would be sent
    // twice.
    if (this.#gathered && !this.#prepared)
      await this.#keep(true).catch((error: unknown) => this.#noteFailure(error));
    sink.close();
  }

  status(): TargetStatus {
    const { clock } = this.#options;
    const { lostSamples, lostRecords } = this.#cursor.totals;
    // Lost samples count at once, sent ones only when they are acknowledged.
    const totals = { ...this.#kept.totals, lostSamples, lostRecords };
    const samples = this.#lag.samples + (this.#gathered?.samples ?? 0);
    const sinceS = this.#gathered?.sinceS ?? this.#lag.sinceS;
    const bytesPerSample = totals.samples > 0 ? totals.bytes / totals.samples : 0;
    return {
      ...totals,
      state: this.#state,
      lagS: sinceS === undefined ? 0 : Math.max(0, Math.floor(clock.wallMs() / 1_000) - sinceS),
      lagSamples: samples,
      lagRecords: this.#lag.records + (this.#gathered?.records ?? 0),
      lagBytes: Math.round(samples * bytesPerSample),
      ...this.#throughput.now(),
      lastError: this.#lastError,
      lastRefusal: this.#lastRefusal,
      lastSentAtMs: this.#lastSentAtMs,
    };
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { clock, limits } = this.#options;
    // What came before this run waits since then.
    await this.#measureLag();
    while (!signal.aborted)
      try {
        const restMs = await this.#step();
        this.#pause.reset();
        await clock.sleep(restMs ?? limits.intervalMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        // It is stopped: the loop ends.
        await clock.sleep(this.#noteFailure(error), signal).catch(() => undefined);
      }
  }

  /** Sends one portion; returns how long to rest, undefined when nothing more waits. */
  async #step(): Promise<number | undefined> {
    const { clock, limits, record, sink, log } = this.#options;
    const startedMs = clock.monotonicMs();
    const usedBeforeMs = processorMs();
    const prepared = (this.#prepared ??= await this.#prepare());
    const { changes, samples, read, records } = prepared;
    const readMs = clock.monotonicMs() - startedMs;
    if (samples.length > 0 || records.length > 0) await this.#send(samples, records);
    else await sink.maintain?.();
    if (this.#state === 'FAILING') log.info('target takes telemetry again', { target: record.name });
    if (this.#hasReconnected() && this.#returnToUnacknowledged()) {
      this.#state = 'CATCHING_UP';
      return 0;
    }
    this.#prepared = undefined;
    this.#take(changes, read);
    await this.#keep(false);
    const isBehind = changes.pendingSamples > limits.samplesAtOnce || read.pending > limits.recordsAtOnce;
    this.#state = isBehind ? 'CATCHING_UP' : 'CURRENT';
    if (changes.pendingSamples === 0 && read.pending === 0) return undefined;
    // The store reads in a thread of its own, this one writes; waiting for a server uses no processor time.
    const usedMs = readMs + processorMs() - usedBeforeMs;
    const shareMs = usedMs * (100 / record.selection.processorPercentMax);
    return Math.min(limits.intervalMs, Math.max(0, shareMs - (clock.monotonicMs() - startedMs)));
  }

  async #prepare(): Promise<Prepared> {
    const { telemetry, record, limits } = this.#options;
    const { position, records: cursor } = this.#cursor;
    const changes = carriesTelemetry(record)
      ? await telemetry.changes({
          after: position,
          sinceS: fromS(record),
          samplesMax: limits.samplesAtOnce,
          isNewestFirst: backlogOrderOf(record) === 'NEWEST_FIRST',
        })
      : { ...NO_CHANGES, position };
    // The samples sent last are far behind those that come now.
    if (changes.hasSkipped) this.#filter = new SampleFilter(record.selection);
    const read = this.#options.records.read(cursor, limits.recordsAtOnce);
    const readSamples = changes.series.reduce((sum, { times }) => sum + times.length, 0);
    const nowS = this.#nowS();
    // What is read now was the first to wait.
    const { sinceS: beforeS = changes.pendingSinceS ?? nowS } = this.#lag;
    const sinceS = readSamples > 0 ? Math.min(nowS, beforeS) : changes.pendingSinceS;
    // Samples that were read count as waiting until they are acknowledged.
    this.#lag = {
      samples: readSamples + changes.pendingSamples,
      records: read.records.length + read.pending,
      sinceS: sinceS ?? oldestS(read),
    };
    return { changes, samples: this.#chosen(changes), read, records: this.#labelled(read) };
  }

  /** The lag before anything is read; it goes on while a delivery waits for its target or fails. */
  async #measureLag(): Promise<void> {
    const { telemetry, record, log } = this.#options;
    const [prepared, { position, records }] = [this.#prepared, this.#cursor];
    if (!prepared && this.#state !== 'STARTING') return;
    try {
      const { pendingSamples, pendingSinceS } = carriesTelemetry(record)
        ? await telemetry.changes({ after: position, sinceS: fromS(record), samplesMax: 0 })
        : NO_CHANGES;
      const { pending } = this.#options.records.read(records, 0);
      // It was acknowledged or read again meanwhile.
      if (this.#prepared !== prepared) return;
      const sinceS = this.#lag.sinceS ?? pendingSinceS ?? (pending > 0 ? this.#nowS() : undefined);
      this.#lag = { samples: pendingSamples, records: pending, sinceS };
    } catch (error) {
      log.warnLimited(`target-lag:${record.id}`, 60_000, 'lag of a target cannot be measured', { error });
    }
  }

  #nowS(): EpochS {
    return Math.floor(this.#options.clock.wallMs() / 1_000);
  }

  #labelled({ records }: ReadRecords): LabelledRecord[] {
    const { labelsOf, site } = this.#options;
    return records.flatMap((record) => {
      if (record.deviceId === undefined) return [{ ...record, labels: { site: site().name } }];
      const device = labelsOf(record.deviceId);
      if (!device || !this.#filter.includesDevice({ id: record.deviceId, slug: device.slug })) return [];
      return [{ ...record, labels: device.labels }];
    });
  }

  #chosen({ series }: Changes): LabelledSamples[] {
    return series.flatMap((samples) => {
      const device = this.#options.labelsOf(samples.deviceId);
      if (!device) return [];
      const named = { id: samples.deviceId, slug: device.slug };
      if (!this.#filter.includes(named, samples.attribute)) return [];
      const thinned = this.#filter.of(samples);
      return thinned.times.length > 0 ? [{ ...thinned, labels: device.labels }] : [];
    });
  }

  async #send(samples: readonly LabelledSamples[], records: readonly LabelledRecord[]): Promise<void> {
    const { signal } = this.#stop;
    const { clock, sink } = this.#options;
    const pace = async (bytes: number): Promise<void> => {
      const waitMs = this.#bucket.borrow(clock.monotonicMs(), bytes);
      if (waitMs > 0) await clock.sleep(waitMs, signal);
    };
    await this.#gather(samples, records.length);
    const { totals } = this.#cursor;
    let refusal: string | undefined;
    if (samples.length > 0) {
      const sent = await sink.send(samples, pace, signal);
      totals.samples += sent.samples;
      totals.bytes += sent.bytes;
      totals.refusedSamples += sent.refusedSamples;
      this.#throughput.add(sent.samples, sent.bytes);
      refusal = sent.refusal;
    }
    if (records.length > 0) {
      const sent = await sink.sendRecords(records, pace, signal);
      totals.records += sent.samples;
      totals.bytes += sent.bytes;
      totals.refusedSamples += sent.refusedSamples;
      refusal ??= sent.refusal;
    }
    this.#lastSentAtMs = clock.wallMs();
    if (refusal !== undefined) this.#noteRefusal(refusal);
  }

  #noteRefusal(refusal: string): void {
    const { clock, log, record } = this.#options;
    this.#lastError = this.#lastRefusal = { message: refusal, atMs: clock.wallMs() };
    log.warnLimited(`target-refusal:${record.id}`, 3_600_000, 'target refuses telemetry', {
      target: record.name,
      reason: refusal,
    });
  }

  /** Counts what a gathering sink has not acknowledged yet. */
  async #gather(samples: readonly LabelledSamples[], recordCount: number): Promise<void> {
    const { sink, saveCursor } = this.#options;
    if (!sink.begin) return;
    if (!this.#gathered) {
      // Prevents a crash of the gateway from sending again what the broker already keeps.
      await saveCursor(this.#kept);
      await sink.begin(this.#kept);
      this.#gathered = { samples: 0, records: 0, sinceS: this.#lag.sinceS };
    }
    for (const { times } of samples) this.#gathered.samples += times.length;
    this.#gathered.records += recordCount;
  }

  /** Moves the acknowledged position once the sink has kept everything. */
  async #keep(isLast: boolean): Promise<void> {
    const { sink } = this.#options;
    if (sink.keep && !(await sink.keep(isLast))) return;
    this.#gathered = undefined;
    this.#kept = structuredClone(this.#cursor);
  }

  #take({ position, lostSamples, pendingSamples, pendingSinceS }: Changes, read: ReadRecords): void {
    const { totals } = this.#cursor;
    totals.lostSamples += lostSamples;
    totals.lostRecords += read.lost;
    const place = { position, records: read.cursor };
    if (!isSamePlace(place, this.#cursor))
      this.#recentPositions.add(this.#cursor, this.#options.clock.monotonicMs());
    this.#cursor = { ...place, totals };
    const recordsSinceS = read.pending > 0 ? this.#lag.sinceS : undefined;
    this.#lag = { samples: pendingSamples, records: read.pending, sinceS: pendingSinceS ?? recordsSinceS };
  }

  /** Goes back to resend what a server that crashed may have lost. False when there is nothing to resend. */
  #returnToUnacknowledged(): boolean {
    const place = this.#recentPositions.takeReturn();
    if (!place) {
      if (this.#recentPositions.isInVain) this.#noteReconnects();
      return false;
    }
    this.#cursor = { ...place, totals: this.#cursor.totals };
    this.#kept = structuredClone(this.#cursor);
    this.#readAgain();
    return true;
  }

  #noteReconnects(): void {
    const { clock, record } = this.#options;
    if (record.kind !== 'MQTT') return;
    const message = 'The connection ends again and again: does another client have the same client id?';
    this.#lastError = { message, atMs: clock.wallMs() };
  }

  /** Whether the sink has reconnected since the last call. */
  #hasReconnected(): boolean {
    const { reconnects = 0 } = this.#options.sink;
    const hasMore = reconnects !== this.#reconnects;
    this.#reconnects = reconnects;
    return hasMore;
  }

  /** The next reads repeat earlier ones: thinning must not take their samples for sent. */
  #readAgain(): void {
    this.#prepared = undefined;
    this.#filter = new SampleFilter(this.#options.record.selection);
  }

  /** Gathered samples are lost: they are gathered again from the acknowledged position. */
  #forgetGathered(): void {
    if (!this.#gathered) return;
    this.#cursor = structuredClone(this.#kept);
    this.#gathered = undefined;
    this.#readAgain();
  }

  /** Returns how long to wait before it is tried again. */
  #noteFailure(error: unknown): number {
    const { clock, log, record } = this.#options;
    const isTarget = error instanceof TargetFailure;
    if (isTarget && error.isConnectionLost) this.#returnToUnacknowledged();
    this.#forgetGathered();
    const message = isTarget ? error.message : 'The telemetry cannot be read now.';
    if (this.#state !== 'FAILING')
      log.warn('target takes no telemetry', {
        target: record.name,
        reason: message,
        ...(!isTarget && { error }),
      });
    this.#state = 'FAILING';
    this.#lastError = { message, atMs: clock.wallMs() };
    const askedMs = isTarget ? (error.retryAfterS ?? 0) * 1_000 : 0;
    return Math.min(Math.max(this.#pause.next(), askedMs), this.#options.limits.retryMaxMs);
  }
}

function oldestS({ records }: ReadRecords): EpochS | undefined {
  if (records.length === 0) return undefined;
  return Math.floor(Math.min(...records.map(({ atMs }) => atMs)) / 1_000);
}

// Samples and bytes per second over the last half minute.

const SPAN_MS = 30_000;
const SLOTS = 6;
const SLOT_MS = SPAN_MS / SLOTS;

interface Slot {
  fromMs: MonotonicMs;
  samples: number;
  bytes: number;
}

class Throughput {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #startedMs: MonotonicMs;
  #slots: Slot[] = [];

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  add(samples: number, bytes: number): void {
    const nowMs = this.#clock.monotonicMs();
    const fromMs = nowMs - (nowMs % SLOT_MS);
    let slot = this.#slots.at(-1);
    if (slot?.fromMs !== fromMs) {
      slot = { fromMs, samples: 0, bytes: 0 };
      this.#slots = [...this.#slots.slice(1 - SLOTS), slot];
    }
    slot.samples += samples;
    slot.bytes += bytes;
  }

  now(): { samplesPerS: number; bytesPerS: number } {
    const nowMs = this.#clock.monotonicMs();
    const slots = this.#slots.filter(({ fromMs }) => fromMs > nowMs - SPAN_MS);
    const spanS = Math.max(1, Math.min(SPAN_MS, nowMs - this.#startedMs) / 1_000);
    const sum = (of: (slot: Slot) => number): number =>
      Math.round(slots.reduce((total, slot) => total + of(slot), 0) / spanS);
    return { samplesPerS: sum(({ samples }) => samples), bytesPerS: sum(({ bytes }) => bytes) };
  }
}
