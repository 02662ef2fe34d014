/**
 * Jobs at moments of the calendar: `scheduler.add_cron`, `scheduler.add_sun`, and `sun`. An extension of ours
 * (the published API has none); the functions exist in runtime V3, `sun` in both.
 */
import { Cron } from 'croner';
import { getPosition, getTimes } from 'suncalc';
import {
  type HostFunction,
  type Jobs,
  type Library,
  LuaError,
  LuaJson,
  type LuaValue,
  numberArgument,
  type ScriptClock,
  textOf,
} from '#scripting/lua';
import type { Limits } from '../../../lib/limits.ts';
import type { DurationMs, EpochMs } from '../../../lib/time.ts';
import type { SandboxSite } from '../../../protocol/rule-sandbox.ts';

export const CALENDAR_LIBRARY: Library = {
  name: 'calendar',
  source: String.raw`
-- pattern: minute hour day month weekday, or with seconds in front; in the site's zone.
function scheduler.add_cron(pattern, body)
  return kit.job(host.job_cron, body, 2, 'add_cron', pattern)
end

-- event: sunrise, sunset, dawn, dusk, noon and the others of sun.times; offset in milliseconds.
function scheduler.add_sun(event, offset, body)
  return kit.job(host.job_sun, body, 3, 'add_sun', event, offset)
end

kit.library('sun', { times = host.sun_times, position = host.sun_position })
`,
};

const DAY_MS = 86_400_000;
/** Far enough for an event that a polar night keeps away for months. */
const SUN_DAYS_MAX = 370;
/** Clearer names for events of the package. */
const SUN_EVENTS: Record<string, string> = { noon: 'solarNoon', midnight: 'nadir' };

interface CalendarOptions {
  clock: ScriptClock & { isSet(): boolean; onStepped(listener: (jumpMs: DurationMs) => void): () => void };
  site: () => SandboxSite;
  jobs: () => Jobs;
  limits: Pick<Limits['rules'], 'clockStepMs' | 'clockCatchUpMs' | 'calendarCheckMs'>;
}

/** The moment after `afterMs` at which the job is due; undefined: never again. */
type NextMs = (afterMs: EpochMs) => EpochMs | undefined;

/** Jobs and functions of one script; `stop` lets go of the clock. */
export function createCalendar(options: CalendarOptions): {
  functions: Record<string, HostFunction>;
  stop: () => void;
} {
  const { clock, site, jobs } = options;
  const alarms = new Set<Alarm>();
  const stop = clock.onStepped((jumpMs) => {
    for (const alarm of alarms) alarm.stepped(jumpMs);
  });

  function open(nextMs: NextMs): bigint {
    const alarm = new Alarm(options, nextMs, () => jobs().tick(id));
    const id = jobs().open(() => {
      alarms.delete(alarm);
      alarm.cancel();
    });
    alarms.add(alarm);
    alarm.arm();
    return id;
  }

  const instantOf = (epoch: LuaValue, name: string): number =>
    epoch === undefined ? clock.wallMs() : numberArgument(epoch, 1, name) * 1_000;

  const functions: Record<string, HostFunction> = {
    job_cron: ([pattern]) => {
      const text = textOf(pattern) ?? '';
      requireMoment(text, site().timeZone, clock.wallMs());
      return [open((afterMs) => nextCronMs(text, site().timeZone, afterMs))];
    },
    job_sun: ([event, offset]) => {
      const name = textOf(event) ?? '';
      const offsetMs = offset === undefined ? 0 : numberArgument(offset, 2, 'add_sun');
      if (!Object.hasOwn(sunTimes(clock.wallMs(), { latitude: 0, longitude: 0 }), name))
        throw new LuaError(`bad argument #1 to 'add_sun' (unknown event "${name}")`);
      if (!(Math.abs(offsetMs) <= DAY_MS))
        throw new LuaError("bad argument #2 to 'add_sun' (a day at most, in milliseconds)");
      if (!site().location) return [undefined, NO_LOCATION];
      return [open((afterMs) => nextSunMs(name, offsetMs, afterMs, site()))];
    },
    sun_times: ([epoch]) => {
      const { location } = site();
      if (!location) return [undefined, NO_LOCATION];
      return [new LuaJson(JSON.stringify(sunTimes(instantOf(epoch, 'times'), location)))];
    },
    sun_position: ([epoch]) => {
      const { location } = site();
      if (!location) return [undefined, NO_LOCATION];
      const at = new Date(instantOf(epoch, 'position'));
      const position = getPosition(at, location.latitude, location.longitude);
      return [new LuaJson(JSON.stringify(position))];
    },
  };
  return {
    functions,
    stop: () => {
      stop();
      for (const alarm of alarms) alarm.cancel();
    },
  };
}

const NO_LOCATION = 'the location of the site is not set';

/**
 * Fires at civil moments although the wall clock may be wrong: nothing before it is set; after a jump the next
 * moment is computed anew, what a small one skips comes late, and a moment that was already served is not served twice,
 * unless the jump was so large that the clock had been nonsense before.
 */
class Alarm {
  readonly #options: CalendarOptions;
  readonly #nextMs: NextMs;
  readonly #fire: () => void;
  #timer: { cancel(): void } | undefined;
  /** Moments up to here are served. */
  #servedMs: EpochMs;
  #isCancelled = false;

  constructor(options: CalendarOptions, nextMs: NextMs, fire: () => void) {
    this.#options = options;
    this.#nextMs = nextMs;
    this.#fire = fire;
    this.#servedMs = options.clock.wallMs();
  }

  arm(): void {
    const { clock, limits } = this.#options;
    this.#timer?.cancel();
    if (this.#isCancelled) return;
    const nowMs = clock.wallMs();
    const dueMs = clock.isSet() ? this.#nextMs(Math.max(this.#servedMs, nowMs - 1)) : undefined;
    // A wall clock that is slewed drifts from the timer: long waits look at it in between.
    const waitMs = Math.min(dueMs === undefined ? DAY_MS : dueMs - nowMs, limits.calendarCheckMs);
    this.#timer = clock.setTimer(Math.max(0, waitMs), () => {
      if (dueMs !== undefined && clock.wallMs() >= dueMs) {
        this.#servedMs = dueMs;
        this.#fire();
      }
      this.arm();
    });
  }

  stepped(jumpMs: DurationMs): void {
    const { clock, limits } = this.#options;
    if (jumpMs > 0) this.#putForward(jumpMs);
    else if (jumpMs + limits.clockStepMs < 0) this.#servedMs = clock.wallMs();
    this.arm();
  }

  /**
   * A correction loses no moment. Those that a larger jump skips are not made up for; they come at their time if the clock
   * is put back.
   */
  #putForward(jumpMs: DurationMs): void {
    const { clock, limits } = this.#options;
    if (jumpMs > limits.clockCatchUpMs || !clock.isSet()) return;
    const nowMs = clock.wallMs();
    const skippedMs = this.#nextMs(Math.max(this.#servedMs, nowMs - jumpMs - 1));
    this.#servedMs = Math.max(this.#servedMs, nowMs - 1);
    if (skippedMs !== undefined && skippedMs < nowMs) this.#fire();
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#timer?.cancel();
  }
}

/** @throws LuaError */
function cronOf(pattern: string, timeZone: string): Cron {
  try {
    return new Cron(pattern, { timezone: timeZone, paused: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new LuaError(`bad argument #1 to 'add_cron' (${reason})`);
  }
}

/** Refuses a job that would never be due; a single moment may be over. @throws LuaError */
function requireMoment(pattern: string, timeZone: string, nowMs: EpochMs): void {
  const isDate = /^\s*\d{4}-/.test(pattern);
  if (nextCronMs(pattern, timeZone, nowMs) === undefined && !isDate)
    throw new LuaError(`bad argument #1 to 'add_cron' (there is no moment "${pattern}")`);
}

export function nextCronMs(pattern: string, timeZone: string, afterMs: EpochMs): EpochMs | undefined {
  return cronOf(pattern, timeZone).nextRun(new Date(afterMs))?.getTime();
}

/** Seconds since 1970 of every event of the day around a moment that has one. */
function sunTimes(atMs: EpochMs, location: { latitude: number; longitude: number }): Record<string, number> {
  const times = getTimes(new Date(atMs), location.latitude, location.longitude);
  const named: Record<string, unknown> = { ...times };
  for (const [name, original] of Object.entries(SUN_EVENTS)) named[name] = named[original];
  const found: Record<string, number> = {};
  for (const [name, date] of Object.entries(named))
    if (date instanceof Date && Number.isFinite(date.getTime()))
      found[name] = Math.round(date.getTime() / 1_000);
  return found;
}

export function nextSunMs(
  event: string,
  offsetMs: DurationMs,
  afterMs: EpochMs,
  site: SandboxSite,
): EpochMs | undefined {
  if (!site.location) return undefined;
  // Events belong to days; with an offset, yesterday's event may still be ahead.
  const firstMs = afterMs - offsetMs - 2 * DAY_MS;
  for (let day = 0; day < SUN_DAYS_MAX; day++) {
    const timeS = sunTimes(firstMs + day * DAY_MS, site.location)[event];
    if (timeS !== undefined && timeS * 1_000 + offsetMs > afterMs) return timeS * 1_000 + offsetMs;
  }
  return undefined;
}
