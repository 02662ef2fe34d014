/** The changed parts of an object: only these are sent, because others may change the rest meanwhile. Pure. */

type Parts = Readonly<Record<string, unknown>>;

const isParts = (value: unknown): value is Parts =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @param depth how many levels of parts are compared one by one; deeper ones are sent as a whole */
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
