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

/** A length of time in milliseconds. */
export type DurationMs = Time<'DurationMs'>;

/** A length of time in seconds. */
export type DurationS = Time<'DurationS'>;

/** A day of UTC. */
export const DAY_S: DurationS = 86_400;

/** The type of a limit by its name: limits of time are durations, except the end of time. */
type Limit<Name> = Name extends `${string}Ms` | `${string}MsMax` | `${string}MsMin`
  ? DurationMs
  : Name extends `${string}EndS`
    ? EpochS
    : Name extends `${string}S`
      ? DurationS
      : number;

/** A table of limits with any numbers; times have their brand. */
export type Numbers<T> = {
  readonly [Name in keyof T]: T[Name] extends number ? Limit<Name> : Numbers<T[Name]>;
};
