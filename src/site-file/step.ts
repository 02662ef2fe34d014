import type { Api } from './api.ts';

/** One change by a site file. */
export interface Step {
  /** A sentence without secrets. */
  change: string;
  run: () => Promise<void>;
}

/** A change that is one request. */
export function requestStep(api: Api, change: string, ...request: Parameters<Api['send']>): Step {
  return { change, run: async () => void (await api.send(...request)) };
}

export type Members = Readonly<Record<string, unknown>>;

const TEXT_LENGTH_MAX = 60;

/** Members that change, and descriptions of the changes. */
interface Difference {
  values: Members;
  names: readonly string[];
}

/**
 * One request for everything that differs, none if nothing does.
 * @param own members of the thing itself
 * @param inside members of objects in it, by the names of these
 */
export function patchSteps(
  api: Api,
  what: string,
  path: string,
  own: Difference,
  inside: Readonly<Record<string, Difference>> = {},
): Step[] {
  const changed = Object.entries(inside).filter(([, { names }]) => names.length > 0);
  const names = [own, ...Object.values(inside)].flatMap((difference) => difference.names);
  if (names.length === 0) return [];
  const body = { ...own.values, ...Object.fromEntries(changed.map(([name, { values }]) => [name, values])) };
  return [requestStep(api, `${what}: ${names.join(', ')}`, 'PATCH', path, body)];
}

/** Given members that differ from the present ones; null and absent members stay. `names` describe the changes. */
export function changed(
  given: Members,
  present: Members,
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

/**
 * The same with secrets, which are never shown: they are sent where there is none, and with every other change, because
 * another address needs its secret again.
 * @param secrets names of secrets → the members of an answer that say whether there is one
 */
export function changedWithSecrets(
  given: Members,
  present: Members,
  prefix: string,
  secrets: Readonly<Record<string, string>>,
): { values: Record<string, unknown>; names: string[] } {
  const entries = Object.entries(given);
  const isSecret = (name: string): boolean => Object.hasOwn(secrets, name);
  const plain = changed(Object.fromEntries(entries.filter(([name]) => !isSecret(name))), present, prefix);
  const missing = entries.filter(
    ([name, value]) =>
      isSecret(name) &&
      (value ?? undefined) !== undefined &&
      (plain.names.length > 0 || present[secrets[name] ?? ''] !== true),
  );
  return {
    values: { ...plain.values, ...Object.fromEntries(missing) },
    names: [...plain.names, ...missing.map(([name]) => `${prefix}${name}`)],
  };
}

export function membersOf(value: unknown): Members {
  return (value ?? {}) as Members;
}

function isSame(one: unknown, other: unknown): boolean {
  // An empty text removes a value.
  return (
    JSON.stringify(one === '' ? undefined : one) ===
    JSON.stringify(other === '' ? undefined : (other ?? undefined))
  );
}

/** Short and without secrets: an address may have a login in its query, and certificates fill pages. */
function shown(name: string, value: unknown): string {
  if (value === undefined || value === null) return 'none';
  if (typeof value === 'string' && name === 'url') return JSON.stringify(value.split('?')[0]);
  if (typeof value === 'string' && value.length > TEXT_LENGTH_MAX) return 'a long text';
  return JSON.stringify(value);
}
