/** The command line of a program in scripts/, and how it ends. */
import { parseArgs, type ParseArgsConfig, type ParseArgsOptionsConfig } from 'node:util';
import { messageOf } from '../../src/lib/errors.ts';

/** The arguments make no sense; the message is for the person at the terminal. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** The options of the command line, without other words. @throws UsageError */
export function parseWords<const Options extends ParseArgsOptionsConfig>(
  options: Options,
  args: readonly string[] = process.argv.slice(2),
) {
  return parsed({ args: [...args], options }).values;
}

/** The options of the command line, and its other words. @throws UsageError */
export function parseArguments<const Options extends ParseArgsOptionsConfig>(options: Options) {
  return parsed({ options, allowPositionals: true });
}

function parsed<const Config extends ParseArgsConfig>(config: Config) {
  try {
    return parseArgs(config);
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

/** Sets the exit code: that of `main`, 2 for a wrong command line, 1 for a failure, whose stack is printed. */
export async function runScript(main: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main();
  } catch (error) {
    const isUsage = error instanceof UsageError;
    const text = !isUsage && error instanceof Error ? error.stack : messageOf(error);
    process.stderr.write(`${text}\n`);
    process.exitCode = isUsage ? 2 : 1;
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
