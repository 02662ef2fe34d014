/** Comparison of configuration values as JSON has them. Pure. */

/** The same text for the same values; the order of parameters means nothing. */
export function canonicalValues(values: Record<string, unknown> | undefined): string {
  return JSON.stringify(
    values === undefined ? [] : Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}
