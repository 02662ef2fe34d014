import type { Api } from './api.ts';

/** One change that a site file asks for. */
export interface Step {
  /** In words; holds no secret. */
  change: string;
  run: () => Promise<void>;
}

/** A change that is one request. */
export function requestStep(api: Api, change: string, ...request: Parameters<Api['send']>): Step {
  return { change, run: async () => void (await api.send(...request)) };
}

export type Members = Readonly<Record<string, unknown>>;

const TEXT_LENGTH_MAX = 60;

/** Members that change, and in words what becomes of them. */
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

/**
 * Members that are given and differ from what is there; null and absent ones are left alone. `names` say what becomes of
 * them.
 */
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
 * The same with secrets, which nobody reads again: one goes where there is none, and with whatever else changes, because
 * another address wants another one.
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
