/**
 * Times as types, so that the compiler refuses a duration where an instant belongs, one clock's reading for another's,
 * and seconds for milliseconds. A brand is a type alone: at run time there is a number. Literals and numbers from
 * outside (SQL, JSON, arithmetic) fit every brand; two brands never fit each other. What adds or subtracts times
 * gives a plain number, and so takes its brand from the declaration that receives it.
 */
type Time<Kind> = number & { readonly 'kind of time'?: Kind };

/** Wall clock: milliseconds since 1970, UTC. What is stored and shown. */
export type EpochMs = Time<'EpochMs'>;

/** Wall clock: seconds since 1970, UTC. */
export type EpochS = Time<'EpochS'>;

/** Monotonic clock: milliseconds since an arbitrary start. Deadlines within one run; never stored, never shown. */
export type MonotonicMs = Time<'MonotonicMs'>;

/** How long, in milliseconds. */
export type DurationMs = Time<'DurationMs'>;

/** How long, in seconds. */
export type DurationS = Time<'DurationS'>;

/** A day of UTC. */
export const DAY_S: DurationS = 86_400;

/** What the name of a limit says of its value: limits are how long something may take, but for where time ends. */
type Limit<Name> = Name extends `${string}Ms` | `${string}MsMax` | `${string}MsMin`
  ? DurationMs
  : Name extends `${string}EndS`
    ? EpochS
    : Name extends `${string}S`
      ? DurationS
      : number;

/** The shape of a table of limits with any numbers, those of time under their brand. */
export type Numbers<T> = {
  readonly [Name in keyof T]: T[Name] extends number ? Limit<Name> : Numbers<T[Name]>;
};
