/**
 * JSON Schema draft-07 for values of type `json` (docs/interface/blueprints.md#types). The package does the
 * checking; it changes the schema it is given, so it works on a copy.
 */
import { Validator } from '@cfworker/json-schema';
import { messageOf } from '../../lib/errors.ts';
import { remembered } from '../../lib/remembered.ts';

const validatorOf = remembered((schema: object) => new Validator(structuredClone(schema), '7'));

/** The first fault of `value` against the schema; `undefined` when it conforms. */
export function schemaProblem(schema: unknown, value: unknown): string | undefined {
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
