import { readFileSync, statfsSync } from 'node:fs';
import {
  arch,
  type as kernelName,
  cpus,
  freemem,
  hostname,
  networkInterfaces,
  release,
  totalmem,
} from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Limits } from '../../lib/limits.ts';
import { inWords, unlessRefused } from '../../lib/system-fault.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../clock/index.ts';

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
    /** Facts that do not change while the program runs. */
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
        /**
         * Bytes that the process with its threads has written since its start; undefined where the system does not
         * tell.
         */
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

/** Memory that programs can still get; `free` alone counts caches as used (proc_meminfo(5)). */
function availableBytes(): number | undefined {
  const match = /^MemAvailable:\s+(\d+) kB$/m.exec(textOf('/proc/meminfo') ?? '');
  return match ? Number(match[1]) * 1_024 : undefined;
}

/** Memory that the board must hold, without pages of files, which the system drops and rereads (proc_pid_status(5)). */
function anonymousBytes(): number | undefined {
  const match = /^RssAnon:\s+(\d+) kB$/m.exec(textOf('/proc/self/status') ?? '');
  return match ? Number(match[1]) * 1_024 : undefined;
}

/** Bytes given to the block layer (proc_pid_io(5)); a flash card writes more than that. */
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

// Names of this machine on its networks, now.

/** Names and addresses, with the name given to devices and the one on the local network; the loopback ones too, link-local IPv6 ones not, because they need a zone. */
export function networkNames(
  publicHost: string | undefined,
  mdnsName?: string,
): { dns: string[]; ips: string[] } {
  const name = hostname();
  const dns = [name, `${name.split('.')[0]}.local`, 'localhost'];
  const ips = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
    .filter((address) => !/^fe[89ab]/i.test(address));
  if (mdnsName !== undefined) dns.push(mdnsName);
  if (publicHost !== undefined) (isAddress(publicHost) ? ips : dns).push(publicHost);
  return { dns, ips };
}

function isAddress(host: string): boolean {
  return host.includes(':') || /^[\d.]+$/.test(host);
}

interface Room {
  totalBytes: number;
  freeBytes: number;
  /** Files that can still be made; undefined where the file system has no such limit. */
  freeFiles: number | undefined;
}

/** How much room the disk of the data folder has, looked at every few seconds. */
export class DiskSpace {
  readonly #limits: Limits['disk'];
  readonly #read: () => Room;
  readonly #timer: Timer;
  readonly #listeners = new Set<(isLow: boolean) => void>();
  #room: Room;
  #fault: string | undefined;
  #isLow: boolean;

  constructor(options: { folder: string; clock: Clock; limits: Limits['disk']; read?: () => Room }) {
    const { folder, clock, limits } = options;
    this.#limits = limits;
    this.#read = options.read ?? (() => readRoom(folder));
    this.#room = this.#read();
    this.#isLow = this.#judge();
    this.#timer = clock.setRepeating(limits.checkIntervalMs, () => this.#check());
  }

  get room(): Room {
    return this.#room;
  }

  /** Little is left, and that is for state: whatever is not needed for control gives way. */
  get isLow(): boolean {
    return this.#isLow;
  }

  /** Why the disk does not tell how much room it has; undefined: it does. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** True when only room that was reserved before can still be used; false while the disk does not answer. */
  get isFull(): boolean {
    if (this.#fault !== undefined) return false;
    return this.#room.freeBytes < this.#limits.fullBytes || this.#room.freeFiles === 0;
  }

  /** Called whenever it becomes low or is no longer; returns the unsubscribe. */
  onChange(listener: (isLow: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  stop(): void {
    this.#timer.cancel();
  }

  #check(): void {
    this.#fault = undefined;
    this.#room = unlessRefused(this.#read, (error) => {
      this.#fault = inWords(error);
      return NO_ROOM;
    });
    const isLow = this.#judge();
    if (isLow === this.#isLow) return;
    this.#isLow = isLow;
    for (const listener of this.#listeners) listener(isLow);
  }

  #judge(): boolean {
    return leavesLittle(this.#room, this.#limits);
  }
}

/** The same for the disk of a file or folder, measured now. */
export function isDiskLow(path: string, limits: Limits['disk']): boolean {
  return leavesLittle(
    unlessRefused(
      () => readRoom(path),
      () => NO_ROOM,
    ),
    limits,
  );
}

function leavesLittle(
  { totalBytes, freeBytes, freeFiles }: Room,
  { lowBytes, lowPercent, lowFiles }: Limits['disk'],
): boolean {
  return (
    totalBytes === 0 ||
    freeBytes < Math.min(lowBytes, (totalBytes * lowPercent) / 100) ||
    (freeFiles ?? lowFiles) < lowFiles
  );
}

/** A disk that does not answer has room for nothing. */
const NO_ROOM: Room = { totalBytes: 0, freeBytes: 0, freeFiles: undefined };

function readRoom(folder: string): Room {
  const { blocks, bavail, bsize, files, ffree } = statfsSync(folder);
  return {
    totalBytes: blocks * bsize,
    freeBytes: bavail * bsize,
    // Some file systems make places for files as they need them and report none.
    freeFiles: files > 0 ? ffree : undefined,
  };
}
