/** Requests of configuration operations as they stand on the wire (http-contract.md 9.5). */
import * as v from 'valibot';
import { query } from '../../platform/http/index.ts';

export const getQuery = v.object({ param_names: query.optionalList() });

/** A list passes as a record otherwise. */
const object = v.pipe(
  v.unknown(),
  v.check((value) => !Array.isArray(value), 'must be an object'),
  v.record(v.string(), v.unknown()),
);

export const updateBody = v.object({
  set: v.nullish(object, {}),
  reset: v.nullish(v.array(v.string()), []),
});
