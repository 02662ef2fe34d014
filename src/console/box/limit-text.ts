/** How long the limit of the history lasts. */
import { say } from '../words/later.ts';

const YEAR_DAYS = 365;

/** At the rate of today; at the limit the oldest history is replaced, as it shall be. @param daysLeft of the gateway, absent: not known yet */
export function limitText(daysLeft: unknown, limit: string, words = say): string {
  if (typeof daysLeft !== 'number') return words.box.oldestGivesWay;
  const days = Math.floor(daysLeft);
  if (days === 0) return words.box.limitReached(limit);
  const span = days < 2 * YEAR_DAYS ? words.box.days(days) : words.values.years(Math.floor(days / YEAR_DAYS));
  return words.box.limitLasts(limit, span);
}
