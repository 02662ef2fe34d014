/** Numbers on the command line of a program in scripts/. */

/** The arguments make no sense; the message is for the person at the terminal. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** @throws UsageError when it is no number within the bounds */
export function decimal(
  name: string,
  text: string | undefined,
  min: number,
  max: number,
): number | undefined {
  if (text === undefined) return undefined;
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!(value >= min && value <= max))
    throw new UsageError(`--${name} must be a number from ${min} to ${max}`);
  return value;
}

/** @throws UsageError when it is no whole number within the bounds */
export function whole(name: string, text: string | undefined, min: number, max: number): number | undefined {
  const value = decimal(name, text, min, max);
  if (value !== undefined && !Number.isInteger(value))
    throw new UsageError(`--${name} must be a whole number`);
  return value;
}
