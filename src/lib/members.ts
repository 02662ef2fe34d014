/** Objects of which not every member was given. */

/** Without the members that are undefined. */
export function defined<Value extends object>(
  value: Value,
): { [Name in keyof Value]?: Exclude<Value[Name], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never;
}

/** The same, and without those that are null, but for the ones where null means something of its own. */
export function withoutNull<Value extends object, Nullable extends keyof Value & string = never>(
  value: Value,
  ...nullable: Nullable[]
): { [Name in keyof Value]?: Exclude<Value[Name], undefined | (Name extends Nullable ? never : null)> } {
  const isGiven = ([name, member]: [string, unknown]): boolean =>
    member !== undefined && (member !== null || nullable.includes(name as Nullable));
  return Object.fromEntries(Object.entries(value).filter(isGiven)) as never;
}
