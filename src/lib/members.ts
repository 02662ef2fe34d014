/** Members of objects: which were given, and their names inside and on the wire. */

/** Whether it is a JSON object: neither null nor a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Without the members that are undefined. */
export function defined<Value extends object>(
  value: Value,
): { [Name in keyof Value]?: Exclude<Value[Name], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never;
}

/** The same, also without members that are null, except those for which null has a meaning. */
export function withoutNull<Value extends object, Nullable extends keyof Value & string = never>(
  value: Value,
  ...nullable: Nullable[]
): { [Name in keyof Value]?: Exclude<Value[Name], undefined | (Name extends Nullable ? never : null)> } {
  const isGiven = ([name, member]: [string, unknown]): boolean =>
    member !== undefined && (member !== null || nullable.includes(name as Nullable));
  return Object.fromEntries(Object.entries(value).filter(isGiven)) as never;
}

/** The same names with other values. */
export function mapped<Member, Result>(
  value: Readonly<Record<string, Member>>,
  map: (member: Member, name: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, map(member, name)]));
}

/** A member for each of the names. */
export function recordOf<Name extends string, Member>(
  names: readonly Name[],
  memberOf: (name: Name) => Member,
): Record<Name, Member> {
  return Object.fromEntries(names.map((name) => [name, memberOf(name)])) as Record<Name, Member>;
}

/** `is_on_change` → `isOnChange` */
export type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

export const camel = <Name extends string>(name: Name): Camel<Name> =>
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) as Camel<Name>;

/** The members of a request under the names that they have inside. */
export function camelMembers<Value extends object>(
  value: Value,
): { [Name in keyof Value & string as Camel<Name>]: Value[Name] } {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [camel(name), member])) as never;
}
