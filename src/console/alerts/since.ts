/** Since when an alert is raised. A file of its own, because the overview needs it too. Pure. */
import type { EpochMs } from '../../lib/time.ts';
import { periodAt } from '../period.ts';
import { timesAs, zone } from '../zone.ts';
import { say } from '../words/index.ts';

/** `since 08:15`, with the day if it is not today at the site. */
export function sinceText(instant: string, nowMs: EpochMs): string {
  const atMs = Date.parse(instant);
  const time = timesAs({ hour: '2-digit', minute: '2-digit' }).format(atMs);
  const dayOf = (ms: number): string => periodAt('day', ms, zone.value);
  if (dayOf(atMs) === dayOf(nowMs)) return say.alerts.since(time);
  return say.alerts.sinceDay(timesAs({ day: 'numeric', month: 'short', year: 'numeric' }).format(atMs), time);
}
