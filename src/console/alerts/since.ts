/** Since when something is so; apart from other words of alerts, because the overview says it, too. Pure. */
import type { EpochMs } from '../../lib/time.ts';
import { periodAt } from '../period.ts';
import { timesAs, zone } from '../zone.ts';
import { say } from '../words/index.ts';

/** `since 08:15`, with the day when it is another one where the site is. */
export function sinceText(instant: string, nowMs: EpochMs): string {
  const atMs = Date.parse(instant);
  const time = timesAs({ hour: '2-digit', minute: '2-digit' }).format(atMs);
  const dayOf = (ms: number): string => periodAt('day', ms, zone.value);
  if (dayOf(atMs) === dayOf(nowMs)) return say.alerts.since(time);
  return say.alerts.sinceDay(timesAs({ day: 'numeric', month: 'short', year: 'numeric' }).format(atMs), time);
}
