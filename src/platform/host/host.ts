import { readFileSync, statfsSync } from 'node:fs';
import { arch, cpus, freemem, hostname, release, totalmem, type as kernelName } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { unlessRefused } from '../../lib/system-fault.ts';
import type { DurationMs } from '../../lib/time.ts';

/** One reading. */
export type HostLoad = ReturnType<Host['load']>;

/** The box itself: what it is, and how busy it is. Linux only where the operating system tells more. */
export type Host = ReturnType<typeof createHost>;

const DELAY_RESOLUTION_MS = 20;

/** `folder` is on the disk that is watched. */
export function createHost(folder: string) {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  let previous = processorTimes();

  return {
    /** What does not change while the program runs. */
    facts: () => ({
      hostname: hostname(),
      operatingSystem: operatingSystem(),
      processorArchitecture: arch(),
      processorCount: cpus().length,
      memoryTotalBytes: totalmem(),
      /** Model of the board, where the firmware tells. */
      model: textOf('/proc/device-tree/model') ?? textOf('/sys/class/dmi/id/product_name'),
      serialNumber: textOf('/proc/device-tree/serial-number'),
    }),
    /** Rates are averages since the reading before. */
    load: () => {
      const present = processorTimes();
      const totalMs = present.totalMs - previous.totalMs;
      const busyMs = totalMs - (present.idleMs - previous.idleMs);
      previous = present;
      const delayMs = Math.max(0, delay.percentile(99) / 1e6 - DELAY_RESOLUTION_MS);
      delay.reset();
      return {
        cpuLoadPercent: totalMs > 0 ? (busyMs / totalMs) * 100 : 0,
        memoryUsedBytes: totalmem() - (availableBytes() ?? freemem()),
        memoryTotalBytes: totalmem(),
        /** Anonymous memory; undefined while the system does not tell, as for want of open files. */
        processMemoryBytes: unlessRefused(
          () => anonymousBytes() ?? process.memoryUsage.rss(),
          () => undefined,
        ),
        /** 99th percentile since the reading before. */
        eventLoopDelayMs: Number.isFinite(delayMs) ? delayMs : 0,
        /** Undefined while the disk does not tell. */
        disk: unlessRefused(
          () => diskOf(folder),
          () => undefined,
        ),
        cpuTemperatureCelsius: temperature(),
        /** What the process with its threads has given to the disk since its start; undefined where the system does not tell. */
        writtenBytes: writtenBytes(),
      };
    },
    stop: () => void delay.disable(),
  };
}

function diskOf(folder: string): { totalBytes: number; freeBytes: number } {
  const { blocks, bavail, bsize } = statfsSync(folder);
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize };
}

function processorTimes(): { totalMs: DurationMs; idleMs: DurationMs } {
  let totalMs: DurationMs = 0;
  let idleMs: DurationMs = 0;
  for (const { times } of cpus()) {
    totalMs += times.user + times.nice + times.sys + times.idle + times.irq;
    idleMs += times.idle;
  }
  return { totalMs, idleMs };
}

/** What programs could still get; `free` alone counts caches as used (proc_meminfo(5)). */
function availableBytes(): number | undefined {
  const match = /^MemAvailable:\s+(\d+) kB$/m.exec(textOf('/proc/meminfo') ?? '');
  return match ? Number(match[1]) * 1_024 : undefined;
}

/** What the board must hold; pages of files are left out, which the system drops and rereads (proc_pid_status(5)). */
function anonymousBytes(): number | undefined {
  const match = /^RssAnon:\s+(\d+) kB$/m.exec(textOf('/proc/self/status') ?? '');
  return match ? Number(match[1]) * 1_024 : undefined;
}

/** What the block layer was asked to store (proc_pid_io(5)); a flash card writes more than that. */
function writtenBytes(): number | undefined {
  const match = /^write_bytes: (\d+)$/m.exec(textOf('/proc/self/io') ?? '');
  return match ? Number(match[1]) : undefined;
}

function temperature(): number | undefined {
  const milliCelsius = Number(textOf('/sys/class/thermal/thermal_zone0/temp') ?? Number.NaN);
  return Number.isFinite(milliCelsius) ? milliCelsius / 1_000 : undefined;
}

function operatingSystem(): string {
  const pretty = /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(textOf('/etc/os-release') ?? '')?.[1];
  return `${pretty ?? kernelName()} (${kernelName()} ${release()})`;
}

/** A small file of the system, without the NUL that device trees end with; undefined when there is none. */
function textOf(path: string): string | undefined {
  return unlessRefused(
    () => readFileSync(path, 'utf8').replaceAll('\0', '').trim() || undefined,
    () => undefined,
  );
}
