/**
 * Arguments of a command against its manifest. Source: docs/interface/http.md#commands,
 * docs/interface/blueprints.md#commands.
 */
import type { Problem } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { mapped } from '../../lib/members.ts';
import type { CompiledCommand } from './manifest.ts';
import { checkWritableValue } from './values.ts';

/** Stands for a sensitive value wherever a request is stored or listed. */
const MASK = '***';

type CheckedArguments =
  | { arguments: Record<string, unknown>; problems?: undefined }
  | { arguments?: undefined; problems: Problem[] };

/**
 * All faults of the given arguments, one problem `invalid_command_arguments` {argument} each; or the
 * arguments to send, in the order of the manifest, with defaults filled in for optional ones that are
 * absent. Null means absent, except for type json. `isFromLua`: an empty table is the list or object that is declared.
 */
export function checkArguments(
  command: CompiledCommand,
  given: Record<string, unknown>,
  isFromLua = false,
): CheckedArguments {
  const declared = command.arguments ?? {};
  const problems: Problem[] = [];
  const accepted: [string, unknown][] = [];
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(declared, name));
  for (const name of unknown.slice(0, LIMITS.http.problems))
    problems.push(problemOf(name, unknownArgument(name, Object.keys(declared))));
  for (const [name, declaration] of Object.entries(declared)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined || (value === null && declaration.type !== 'json')) {
      if (declaration.required) problems.push(problemOf(name, `Argument "${name}" is required.`));
      else if (declaration.default !== undefined) accepted.push([name, declaration.default]);
      continue;
    }
    const checked = checkWritableValue(declaration, value, isFromLua);
    if (checked.problem === undefined) accepted.push([name, checked.value]);
    else problems.push(problemOf(name, `Argument "${name}" ${checked.problem}.`));
  }
  return problems.length > 0 ? { problems } : { arguments: Object.fromEntries(accepted) };
}

/** The arguments as they may be stored and shown: values of sensitive ones replaced. */
export function maskSensitive(
  command: CompiledCommand,
  values: Record<string, unknown>,
): Record<string, unknown> {
  const declared = command.arguments ?? {};
  return mapped(values, (value, name) =>
    Object.hasOwn(declared, name) && declared[name]?.sensitive ? MASK : value,
  );
}

function unknownArgument(name: string, declared: string[]): string {
  if (declared.length === 0) return `Unknown argument "${name}"; the command takes none.`;
  return `Unknown argument "${name}"; the command takes: ${declared.join(', ')}.`;
}

function problemOf(argument: string, message: string): Problem {
  return { code: 'invalid_command_arguments', message, details: { argument } };
}
