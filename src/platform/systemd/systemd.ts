/**
 * Notices to the service manager: ready, watchdog, stopping (sd_notify(3)). The command `systemd-notify` sends them; it is a
 * child, so the unit has `NotifyAccess=all`. Child programs of the gateway do not get the address.
 */
import { execFile } from 'node:child_process';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';

/** Options of `createServiceNotices`. */
export interface ServiceNoticeOptions {
  /** `NOTIFY_SOCKET`; undefined when no manager waits for notices: then nothing is done. */
  notifySocket: string | undefined;
  /** Silence after which the manager restarts us; undefined: no watchdog. */
  watchdogMs: DurationMs | undefined;
  /**
   * Asked before each watchdog notice. While it answers false, throws or does not answer, none is sent, so
   * that a gateway that runs but does not work is restarted.
   */
  isHealthy: () => boolean | Promise<boolean>;
  clock: Clock;
  log: Log;
  /** Program that sends the notices. Default: `systemd-notify`. */
  command?: string;
}

/** Notices never fail their caller: what cannot be sent is logged. */
export function createServiceNotices(options: ServiceNoticeOptions) {
  const { notifySocket, watchdogMs, clock, log } = options;
  const command = options.command ?? 'systemd-notify';
  let watchdog: Timer | undefined;
  let underWay = false;

  async function notify(...assignments: string[]): Promise<void> {
    if (notifySocket === undefined) return;
    try {
      await run(command, assignments, notifySocket);
    } catch (error) {
      log.warnLimited('systemd-notify', NOTICE_WARNING_INTERVAL_MS, 'service manager was not told', {
        notice: assignments[0],
        error,
      });
    }
  }

  async function feedWatchdog(): Promise<void> {
    // A check that hangs holds back all later ones, and with them the notice.
    if (underWay) return;
    underWay = true;
    try {
      if (await options.isHealthy()) await notify('WATCHDOG=1');
      else log.warn('health check failed, watchdog notice withheld');
    } catch (error) {
      log.warn('health check failed, watchdog notice withheld', { error });
    }
    underWay = false;
  }

  return {
    /** Start-up is complete; `status` is shown by `systemctl status`. Watchdog notices begin. */
    ready: async (status: string) => {
      await notify('READY=1', `STATUS=${status}`);
      if (notifySocket === undefined || watchdogMs === undefined) return;
      // Two chances per period, as sd_watchdog_enabled(3) recommends.
      watchdog = clock.setRepeating(watchdogMs / 2, () => void feedWatchdog());
    },
    /** Start-up or work cannot go on; the package's `guard` tells the owner these words when this was an upgrade. */
    failing: (reason: string) => notify(`STATUS=Cannot go on: ${oneLine(reason)}`),
    /** Stopping has begun. Watchdog notices end: the manager's stop timeout takes over. */
    stopping: async () => {
      watchdog?.cancel();
      await notify('STOPPING=1');
    },
  };
}

const NOTICE_WARNING_INTERVAL_MS = 3_600_000;
const COMMAND_TIMEOUT_MS = 10_000;
const REASON_CHARACTERS = 300;

/** A line of its own would be another notice. */
const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, REASON_CHARACTERS);

function run(command: string, assignments: readonly string[], notifySocket: string): Promise<void> {
  const env = { NOTIFY_SOCKET: notifySocket, PATH: '/usr/bin:/bin' };
  return new Promise((resolve, reject) => {
    execFile(command, assignments, { env, timeout: COMMAND_TIMEOUT_MS }, (error, _output, complaint) => {
      if (error === null) return resolve();
      const { code, signal } = error;
      const said = complaint.slice(0, 500).trim();
      // Where it could not be started its code is a word.
      reject(
        typeof code === 'string' ? error : new Error(`${command} ended with ${signal ?? code}: ${said}`),
      );
    });
  });
}
