/** Checks of values against their declaration, shared by arguments, configuration and telemetry. */
import { Validator } from '@cfworker/json-schema';
import { messageOf, type Problem } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { isObject, mapped } from '../../lib/members.ts';
import { memoized } from '../../lib/memoized.ts';
import type { AttributeType, CompiledCommand, EnumItem, EnumValue } from './manifest.ts';

/** Common part of arguments, parameters, properties and telemetry attributes. */
export interface ValueDeclaration {
  type: AttributeType;
  enum?: EnumValue[];
  enum_with_metainfo?: EnumItem[];
  min?: number;
  max?: number;
  json_schema?: unknown;
}

type CheckedValue = { value: unknown; problem?: undefined } | { value?: undefined; problem: string };

/**
 * Judges a value by its declared type, enum, range and schema (docs/interface/blueprints.md).
 * An integral float is an integer, an integer is a float; nothing else is converted. The problem reads on
 * from the name of what is checked: `must be integer, got string`.
 */
export function checkValue(declaration: ValueDeclaration, value: unknown): CheckedValue {
  if (!hasType(declaration.type, value))
    return { problem: `must be ${NOUN[declaration.type]}, got ${kindOf(value)}` };
  const allowed = allowedValues(declaration);
  if (allowed !== undefined && !allowed.includes(value as EnumValue))
    return { problem: `must be one of: ${allowed.join(', ')}` };
  if (typeof value === 'number') {
    if (declaration.min !== undefined && value < declaration.min)
      return { problem: `must be at least ${declaration.min}` };
    if (declaration.max !== undefined && value > declaration.max)
      return { problem: `must be at most ${declaration.max}` };
  }
  if (declaration.type === 'json' && declaration.json_schema !== undefined) {
    const problem = schemaProblem(declaration.json_schema, value);
    if (problem !== undefined) return { problem: `does not match its JSON schema: ${problem}` };
  }
  return { value };
}

/**
 * The same for a value that a device sends. An empty Lua table looks like `{}` or `[]` whatever was meant, so it
 * is read as the kind that the declaration asks for (docs/interface/blueprints.md#types).
 */
export function checkDeviceValue(declaration: ValueDeclaration, value: unknown): CheckedValue {
  const checked = checkValue(declaration, value);
  if (checked.problem === undefined || !isEmptyTable(value)) return checked;
  const other = Array.isArray(value) ? {} : [];
  const again = checkValue(declaration, other);
  return again.problem === undefined ? again : checked;
}

/**
 * The same for a value that is passed on as JSON: an object that stands for the digits of an integer beyond 2^53
 * (`writableJson`) is judged as the nearest number, and stays.
 */
export function checkWritableValue(
  declaration: ValueDeclaration,
  value: unknown,
  isFromDevice = false,
): CheckedValue {
  const judged: unknown =
    typeof value === 'object' && value !== null ? JSON.parse(JSON.stringify(value)) : value;
  const checked = (isFromDevice ? checkDeviceValue : checkValue)(declaration, judged);
  return checked.problem === undefined && checked.value === judged ? { value } : checked;
}

/** The values an enum allows; `undefined` without one. */
function allowedValues(declaration: ValueDeclaration): EnumValue[] | undefined {
  return declaration.enum ?? declaration.enum_with_metainfo?.map((item) => item.value);
}

const NOUN: Record<AttributeType, string> = {
  string: 'string',
  integer: 'integer',
  float: 'float',
  boolean: 'boolean',
  array_of_strings: 'an array of strings',
  json: 'a JSON value',
  alerts: 'an array of alert names',
  object: 'an object',
};

function hasType(type: AttributeType, value: unknown): boolean {
  switch (type) {
    case 'string':
    case 'boolean':
      return typeof value === type;
    case 'integer':
      return Number.isInteger(value) && !isBeyondInt64(value as number);
    case 'float':
      return typeof value === 'number' && Number.isFinite(value);
    case 'array_of_strings':
    case 'alerts':
      return Array.isArray(value) && value.every((item) => typeof item === 'string');
    case 'object':
      return isObject(value);
    case 'json':
      return value !== undefined;
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value !== 'number') return typeof value;
  // Numbers that JSON writes as 1e400, and integers that no device can hold.
  if (!Number.isFinite(value) || (Number.isInteger(value) && isBeyondInt64(value)))
    return 'a number too large';
  return Number.isInteger(value) ? 'integer' : 'float';
}

/** The largest integer comes as 2^63, which is the float next to it. */
function isBeyondInt64(value: number): boolean {
  return Math.abs(value) > 2 ** 63;
}

function isEmptyTable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** JSON Schema draft-07 (docs/interface/blueprints.md#types). The package changes the schema it is given, so it gets a copy. */
const validatorOf = memoized((schema: object) => new Validator(structuredClone(schema), '7'));

/** The first fault of `value` against the schema; `undefined` when it conforms. */
function schemaProblem(schema: unknown, value: unknown): string | undefined {
  if (typeof schema === 'boolean') return schema ? undefined : 'no value is allowed';
  if (typeof schema !== 'object' || schema === null) return undefined;
  try {
    const result = validatorOf(schema).validate(value);
    if (result.valid) return undefined;
    const cause = result.errors.at(-1);
    return cause === undefined
      ? 'does not match its schema'
      : `${cause.instanceLocation}: ${cause.error.replace(/\.$/, '')}`;
  } catch (error) {
    // A schema that refers to itself without end, or to something that is not there.
    return `its schema cannot be applied: ${messageOf(error)}`;
  }
}

// Arguments of a command against its manifest. Source: docs/interface/http.md#commands,
// docs/interface/blueprints.md#commands.

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
