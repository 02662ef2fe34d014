/** Requests of configuration operations as they stand on the wire (http-contract.md 9.5). */
import * as v from 'valibot';
import { query } from '../../platform/http/index.ts';

export const getQuery = v.object({ param_names: query.optionalList() });

export const updateBody = v.object({
  set: v.nullish(v.record(v.string(), v.unknown()), {}),
  reset: v.nullish(v.array(v.string()), []),
});
