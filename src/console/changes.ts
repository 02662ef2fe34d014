/** What of something was changed: only that is sent, because others may change the rest at the same time. Pure. */

type Parts = Readonly<Record<string, unknown>>;

const isParts = (value: unknown): value is Parts =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @param depth how far parts of parts are told apart; below they are sent as a whole */
export function changesOf(before: Parts, now: Parts, depth = 1): Record<string, unknown> {
  const isOther = ([name, value]: [string, unknown]): boolean =>
    JSON.stringify(value) !== JSON.stringify(before[name]);
  return Object.fromEntries(
    Object.entries(now)
      .filter(isOther)
      .map(([name, value]) => {
        const known = before[name];
        const isDeeper = depth > 0 && isParts(known) && isParts(value);
        return [name, isDeeper ? changesOf(known, value, depth - 1) : value];
      }),
  );
}
