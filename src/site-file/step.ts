/** One change that a site file asks for. */
export interface Step {
  /** In words; holds no secret. */
  change: string;
  run: () => Promise<void>;
}

const TEXT_LENGTH_MAX = 60;

/**
 * Members that are given and differ from what is there; null and absent ones are left alone. `names` say what becomes of
 * them.
 */
export function changed(
  given: Readonly<Record<string, unknown>>,
  present: Readonly<Record<string, unknown>>,
  prefix = '',
): { values: Record<string, unknown>; names: string[] } {
  const different = Object.entries(given).filter(
    ([name, value]) => (value ?? undefined) !== undefined && !isSame(value, present[name]),
  );
  return {
    values: Object.fromEntries(different),
    names: different.map(([name, value]) => {
      const [after, before] = [shown(name, value), shown(name, present[name])];
      return `${prefix}${name} ${after === before ? 'changes' : `${after} instead of ${before}`}`;
    }),
  };
}

function isSame(one: unknown, other: unknown): boolean {
  // An empty text takes a value away.
  return (
    JSON.stringify(one === '' ? undefined : one) ===
    JSON.stringify(other === '' ? undefined : (other ?? undefined))
  );
}

/** An address may carry a login behind its question mark, and certificates fill pages. */
function shown(name: string, value: unknown): string {
  if (value === undefined || value === null) return 'none';
  if (typeof value === 'string' && name === 'url') return JSON.stringify(value.split('?')[0]);
  if (typeof value === 'string' && value.length > TEXT_LENGTH_MAX) return 'a long text';
  return JSON.stringify(value);
}
