/** Requests of configuration operations as they stand on the wire (http-contract.md 9.5). */
import * as v from 'valibot';
import { query, shape } from '../../platform/http/index.ts';

export const getQuery = v.object({ param_names: query.optionalList() });

/** A list passes as a record otherwise. */
const object = v.pipe(
  v.unknown(),
  shape.wire({ type: 'object', additionalProperties: true, examples: [{ limit: 80 }] }),
  v.check((value) => !Array.isArray(value), 'must be an object'),
  v.record(v.string(), v.unknown()),
);

export const updateBody = v.object({
  set: v.nullish(object, {}),
  reset: v.nullish(v.pipe(v.array(v.string()), v.examples([['mode']])), []),
});

/** Wire shape of answers, for the API description. */
export const configurationShape = v.object({
  configuration: v.pipe(
    shape.anyObject(),
    v.description(
      'Parameter → value; without parameters that have neither value nor default, or are sensitive.',
    ),
    v.examples([{ limit: 80, mode: 'eco' }]),
  ),
});
