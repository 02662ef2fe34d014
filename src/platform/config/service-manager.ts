import type { DurationMs } from '../../lib/time.ts';

/** What a service manager says in the environment (sd_notify(3), sd_watchdog_enabled(3)). */
interface ServiceManager {
  /** Where notices go; undefined when nobody waits for them. */
  notifySocket: string | undefined;
  /** Silence after which the manager restarts the process; undefined: it does not watch. */
  watchdogMs: DurationMs | undefined;
}

/** A watchdog meant for another process (`WATCHDOG_PID`) is none. */
export function readServiceManager(
  environment: Readonly<Record<string, string | undefined>>,
  processId: number,
): ServiceManager {
  const { NOTIFY_SOCKET: notifySocket, WATCHDOG_USEC: period, WATCHDOG_PID: watched } = environment;
  const isOurs = watched === undefined || watched === String(processId);
  const watchdogMs =
    period !== undefined && /^[1-9]\d{0,15}$/.test(period) ? Number(period) / 1_000 : undefined;
  return { notifySocket: notifySocket || undefined, watchdogMs: isOurs ? watchdogMs : undefined };
}
