import type { Problem } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { DurationMs, DurationS, EpochMs, MonotonicMs } from '../../lib/time.ts';
import { type Clock, isFarAhead, type Timer } from '../../platform/clock/index.ts';
import type { Host } from '../../platform/host/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Instruments, Metrics } from '../../platform/metrics/index.ts';

/** State of the parts that the gateway's own telemetry reports. */
export interface PartsStatus {
  /** Why history takes no data; undefined when all is well. */
  historyDegraded: string | undefined;
  historySizeBytes: number;
  /** Days until the oldest telemetry is removed to make room; undefined: not known yet. */
  historyDaysLeft: number | undefined;
  /** Blocks and records of telemetry that could not be read since the start. */
  historyDamagedParts: number;
  /** Telemetry or logs were recently removed early, to make room. */
  isHistoryShortened: boolean;
  /** Files set aside for a person: damaged ones, and histories of other sites. */
  historySetAside: { damaged: readonly string[]; foreign: readonly string[] };
  /** Parts of the history that were missing at a recent start. */
  historyMissing: readonly string[];
  /** Unknown devices whose history is kept. */
  unknownDevices: readonly string[];
  /** Segments of the telemetry journal that were set aside. */
  journalSetAside: readonly string[];
  stateSizeBytes: number;
  /** Why the data folder cannot be read, so that sizes and names are as they were last known; undefined: it can. */
  folderFault: string | undefined;
  /** Only state can be stored, in reserved room. */
  isDiskFull: boolean;
  /** Tables that a recent recovery of state.db took from a copy; undefined: there was no recovery. */
  stateRecovery: string | undefined;
  /** Changes that the end of a write-ahead log lost, one sentence each. */
  changesLost: readonly string[];
  /** Why a backup could not recently be put back at a start. */
  restoreFault: string | undefined;
  /** It is a restored copy that sends nothing. */
  isRehearsal: boolean;
  /** TLS is off because its keys cannot be used. */
  isTlsOff: boolean;
  /** Why the operator's certificate for HTTPS needs somebody. */
  certificateProblem: { kind: 'unusable' | 'expiring'; reason: string } | undefined;
  /** Why state cannot be changed, so that commands are refused; undefined: it can. */
  stateDegraded: string | undefined;
  /** Why no copy of state.db could be made; undefined: it could. */
  stateCopyFault: string | undefined;
  brokerSessions: number;
  devicesOnline: number;
  /** Telemetry values received since the start. */
  telemetryValues: number;
  /** Starts of child programs and threads beyond the first. */
  restarts: number;
  /** Targets that accept nothing now, with the reason in a sentence. */
  targetsFailing: readonly { name: string; reason: string }[];
  /** Targets that recently refused a part, with the reason in a sentence. */
  targetsRefusing: readonly { name: string; reason: string }[];
  /** Targets that should send commands and cannot now, with the reason in a sentence. */
  commandsFailing: readonly { name: string; reason: string }[];
  /** Why the file that describes the site is not applied. */
  siteFileFault: string | undefined;
  /** Why the last installed version was rolled back. */
  updateFailure: string | undefined;
  /** Lag of the target that is furthest behind. */
  targetsLagS: DurationS;
  /** Unsent samples of all targets. */
  targetsLagSamples: number;
  /** Unsent records besides telemetry of all targets. */
  targetsLagRecords: number;
  /** Child programs that should run and do not. */
  missingPrograms: readonly string[];
  /** Planned backups: the last good one, why the last try failed, and whether they are overdue. */
  backup: {
    goodAtMs?: EpochMs | null;
    fault?: string | null;
    isOverdue: boolean;
  };
}

interface ApplianceOptions extends Instruments {
  host: Host;
  version: string;
  /** Port of HTTPS; undefined without it. */
  httpsPort: () => number | undefined;
  status: () => PartsStatus;
  /** Settings that do not change while it runs, as properties of its device. */
  settings: Readonly<Record<string, number>>;
  /** Sends telemetry of the gateway's own device. */
  sendTelemetry: (values: Record<string, unknown>) => void;
  sendProperties: (values: Record<string, unknown>) => void;
}

const INTERVAL_MS = 10_000;
const DISK_ALMOST_FULL_SHARE = 0.1;
/** How long a restart of a part stays visible. */
const RESTART_SHOWN_MS = 3_600_000;

/**
 * The gateway as a device: its own properties, telemetry and alerts, and its health. The state of other
 * capabilities comes through options that `gateway.ts` passes.
 */
export class Appliance {
  readonly #options: ApplianceOptions;
  readonly #log: Log;
  readonly #memory;
  readonly #delay;
  readonly #startedMs: MonotonicMs;
  readonly #writing: WritingRate;
  #timer: Timer | undefined;
  #previous: { values: number; atMs: MonotonicMs };
  readonly #restarts = new Rise(RESTART_SHOWN_MS);
  readonly #damages = new Rise(LIMITS.history.damageShownMs);

  constructor(options: ApplianceOptions) {
    this.#options = options;
    const { clock, log, metrics } = options;
    this.#log = log.child({ component: 'appliance' });
    this.#memory = metrics.gauge(
      'process_memory_bytes',
      'Anonymous memory of the process, which the board must hold.',
    );
    this.#delay = metrics.gauge(
      'event_loop_delay_seconds',
      'Event-loop delay, 99th percentile of the last 10 s.',
    );
    this.#startedMs = clock.monotonicMs();
    this.#writing = new WritingRate(metrics);
    this.#previous = { values: 0, atMs: this.#startedMs };
  }

  get httpsPort(): number | undefined {
    return this.#options.httpsPort();
  }

  /** Sends the properties and begins to measure. */
  start(): void {
    const { clock, host, settings, sendProperties, version } = this.#options;
    const facts = host.facts();
    sendProperties({
      version,
      hostname: facts.hostname,
      operating_system: facts.operatingSystem,
      processor_architecture: facts.processorArchitecture,
      processor_count: facts.processorCount,
      memory_total_bytes: facts.memoryTotalBytes,
      disk_total_bytes: host.load().disk?.totalBytes ?? null,
      model: facts.model ?? null,
      serial_number: facts.serialNumber ?? null,
      ...settings,
    });
    this.#measureSafely();
    this.#timer = clock.setRepeating(INTERVAL_MS, () => this.#measureSafely());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** True while everything serves. */
  isServing(): boolean {
    return this.#timer !== undefined;
  }

  status(): PartsStatus {
    return this.#options.status();
  }

  /** Faults that keep the gateway from its whole work; empty: everything works. */
  faults(): Problem[] {
    return this.#timer === undefined ? [STARTING] : faultsOf(this.#options.status());
  }

  #measureSafely(): void {
    try {
      this.#measure();
    } catch (error) {
      this.#log.warnLimited('measure', 3_600_000, 'the gateway could not be measured', { error });
    }
  }

  #measure(): void {
    const { clock, host, sendTelemetry } = this.#options;
    const status = this.#options.status();
    const load = host.load();
    if (load.processMemoryBytes !== undefined) this.#memory.set(load.processMemoryBytes);
    this.#delay.set(load.eventLoopDelayMs / 1_000);
    const nowMs = clock.monotonicMs();
    const rate = this.#telemetryRate(status.telemetryValues, nowMs);
    const { disk } = load;
    const raised = this.#raisedBy(status, disk ? disk.freeBytes / disk.totalBytes : 1);
    const alerts = raised.map(({ name }) => name);
    sendTelemetry({
      status: DEGRADING.some((name) => alerts.includes(name)) ? 'degraded' : 'ok',
      uptime_s: Math.round((nowMs - this.#startedMs) / 1_000),
      cpu_load_percent: rounded(load.cpuLoadPercent),
      memory_used_percent: rounded((load.memoryUsedBytes / load.memoryTotalBytes) * 100),
      memory_used_bytes: load.memoryUsedBytes,
      process_memory_bytes: load.processMemoryBytes ?? null,
      event_loop_delay_ms: rounded(load.eventLoopDelayMs),
      disk_used_percent: disk ? rounded(100 - (disk.freeBytes / disk.totalBytes) * 100) : null,
      disk_free_bytes: disk?.freeBytes ?? null,
      history_size_bytes: status.historySizeBytes,
      history_days_left: status.historyDaysLeft ?? null,
      history_damaged_parts: status.historyDamagedParts,
      state_size_bytes: status.stateSizeBytes,
      broker_sessions: status.brokerSessions,
      devices_online: status.devicesOnline,
      telemetry_values_per_second: rounded(rate),
      targets_lag_s: status.targetsLagS,
      targets_lag_samples: status.targetsLagSamples,
      targets_lag_records: status.targetsLagRecords,
      cpu_temperature: load.cpuTemperatureCelsius ?? null,
      flash_written_bytes_per_day: this.#writing.perDay(load.writtenBytes, nowMs) ?? null,
      last_backup_age_h: ageHours(status.backup.goodAtMs, clock) ?? null,
      alerts,
      ...(alerts.length > 0 && {
        alert_details: Object.fromEntries(
          raised.flatMap(({ name, detail }) => (detail === undefined ? [] : [[name, detail]])),
        ),
      }),
    });
  }

  /** Values per second since the last call. */
  #telemetryRate(values: number, nowMs: MonotonicMs): number {
    const elapsedS = (nowMs - this.#previous.atMs) / 1_000;
    const rate = elapsedS > 0 ? (values - this.#previous.values) / elapsedS : 0;
    this.#previous = { values, atMs: nowMs };
    return rate;
  }

  /** Raised alerts, with details for a person. */
  #raisedBy(status: PartsStatus, diskFreeShare: number): { name: string; detail: string | undefined }[] {
    const { clock } = this.#options;
    const { backup, certificateProblem: certificate, historyMissing } = status;
    const { journalSetAside, unknownDevices } = status;
    const { foreign } = status.historySetAside;
    const nowMs = clock.monotonicMs();
    const wasRestarted = this.#restarts.isRecent(status.restarts, nowMs);
    const isHistoryDamaged =
      this.#damages.isRecent(status.historyDamagedParts, nowMs) && status.historyDamagedParts > 0;
    const damaged = [
      ...status.historySetAside.damaged,
      ...journalSetAside.map((name) => `telemetry-journal/${name}`),
    ];
    const all: [name: string, isRaised: boolean, detail?: string][] = [
      ['disk_almost_full', diskFreeShare < DISK_ALMOST_FULL_SHARE],
      ['disk_full', status.isDiskFull],
      ['data_folder_unreadable', status.folderFault !== undefined, status.folderFault],
      ['state_recovered', status.stateRecovery !== undefined, status.stateRecovery],
      ['changes_lost', status.changesLost.length > 0, listed('', status.changesLost)],
      ['rehearsal', status.isRehearsal],
      ['restore_not_done', status.restoreFault !== undefined, status.restoreFault],
      ['state_degraded', status.stateDegraded !== undefined, status.stateDegraded],
      ['state_copies_failing', status.stateCopyFault !== undefined, status.stateCopyFault],
      ['history_degraded', status.historyDegraded !== undefined, status.historyDegraded],
      ['history_damaged', isHistoryDamaged || damaged.length > 0, listed('Set aside: ', damaged)],
      ['history_missing', historyMissing.length > 0, listed('Begun anew: ', historyMissing)],
      ['history_shortened', status.isHistoryShortened],
      ['history_of_other_site', foreign.length > 0, listed('Set aside: ', foreign)],
      [
        'history_of_unknown_devices',
        unknownDevices.length > 0,
        listed(`${unknownDevices.length}: `, unknownDevices.slice(0, UNKNOWN_NAMED)),
      ],
      ['tls_off', status.isTlsOff],
      ['certificate_unusable', certificate?.kind === 'unusable', certificate?.reason],
      ['certificate_expiring', certificate?.kind === 'expiring', certificate?.reason],
      ['backup_overdue', backup.isOverdue, backup.fault ?? NO_BACKUP],
      ['target_failing', status.targetsFailing.length > 0, named(status.targetsFailing)],
      ['target_refusing', status.targetsRefusing.length > 0, named(status.targetsRefusing)],
      ['target_commands_failing', status.commandsFailing.length > 0, named(status.commandsFailing)],
      ['site_file_not_applied', status.siteFileFault !== undefined, status.siteFileFault],
      ['update_failed', status.updateFailure !== undefined, status.updateFailure],
      ['clock_not_set', !clock.isSet()],
      ['clock_ahead', isFarAhead(clock)],
      ['service_restarted', wasRestarted],
    ];
    return all.flatMap(([name, isRaised, detail]) => (isRaised ? [{ name, detail }] : []));
  }
}

/** Whether a count since the start has grown recently. */
class Rise {
  readonly #shownMs: DurationMs;
  #count = 0;
  #lastMs: MonotonicMs = -Infinity;

  constructor(shownMs: DurationMs) {
    this.#shownMs = shownMs;
  }

  isRecent(count: number, nowMs: MonotonicMs): boolean {
    if (count > this.#count) this.#lastMs = nowMs;
    this.#count = count;
    return nowMs - this.#lastMs < this.#shownMs;
  }
}

/** Alerts that make the status `degraded`. */
const DEGRADING = ['data_folder_unreadable', 'state_degraded', 'history_degraded', 'clock_not_set'];

const STARTING: Problem = { code: 'starting', message: 'The gateway is starting or stopping.' };

function faultsOf({
  stateDegraded,
  historyDegraded,
  folderFault,
  isDiskFull,
  missingPrograms,
}: PartsStatus): Problem[] {
  return [
    ...(stateDegraded === undefined
      ? []
      : [{ code: 'state_degraded', message: `Commands and changes are refused: ${stateDegraded}` }]),
    ...(historyDegraded === undefined
      ? []
      : [{ code: 'history_degraded', message: `History takes no data: ${historyDegraded}` }]),
    ...(folderFault === undefined
      ? []
      : [{ code: 'data_folder_unreadable', message: `The data folder cannot be read: ${folderFault}` }]),
    ...(isDiskFull
      ? [{ code: 'disk_full', message: 'The disk is full: nothing more is stored but the state.' }]
      : []),
    ...missingPrograms.map((program) => ({
      code: 'program_not_running',
      message: `The program ${program} does not run yet, or ended and is started again after a pause.`,
      details: { program },
    })),
  ];
}

/** Devices named in a detail, so that it stays readable. */
const UNKNOWN_NAMED = 10;

const listed = (head: string, names: readonly string[]): string | undefined =>
  names.length > 0 ? `${head}${names.join(', ')}.` : undefined;

const named = (reasons: readonly { name: string; reason: string }[]): string =>
  reasons.map(({ name, reason }) => `${name}: ${reason}`).join(' ');

const NO_BACKUP = 'No backup was made by plan for longer than the plan allows.';

function ageHours(goodAtMs: EpochMs | null | undefined, clock: Clock): number | undefined {
  return goodAtMs === null || goodAtMs === undefined
    ? undefined
    : Math.max(0, Math.floor((clock.wallMs() - goodAtMs) / 3_600_000));
}

/** One digit after the point: more would be noise that takes up room. */
function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

// Bytes that the gateway writes to its flash card per day.

const DAY_MS = 86_400_000;
const STEP_MS = 3_600_000;
/** A shorter span says nothing about a day, because a start writes more than the hours after it. */
const SPAN_MIN_MS = 1_800_000;

class WritingRate {
  readonly #total;
  /** Hourly points of the last day; bytes since the start of the process. */
  #points: { atMs: MonotonicMs; bytes: number }[] = [];

  constructor(metrics: Metrics) {
    this.#total = metrics.gauge(
      'process_written_bytes',
      'Bytes that the process gave to the disk since its start, as the kernel counts them.',
    );
  }

  /** Bytes a day, at the rate of the last day; undefined: not known yet. */
  perDay(bytes: number | undefined, nowMs: MonotonicMs): number | undefined {
    if (bytes === undefined) return undefined;
    this.#total.set(bytes);
    const last = this.#points.at(-1);
    if (!last || nowMs - last.atMs >= STEP_MS) this.#points.push({ atMs: nowMs, bytes });
    while (this.#points.length > DAY_MS / STEP_MS + 1) this.#points.shift();
    const first = this.#points[0];
    const spanMs = nowMs - (first?.atMs ?? nowMs);
    if (!first || spanMs < SPAN_MIN_MS) return undefined;
    return Math.round(((bytes - first.bytes) / spanMs) * DAY_MS);
  }
}
