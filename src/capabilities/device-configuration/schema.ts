/** Requests of configuration operations as they stand on the wire (docs/interface/http.md#configuration). */
import * as v from 'valibot';
import { query, shape } from '../../platform/http/index.ts';

export const getQuery = v.object({ param_names: query.optionalList() });

/** Kept as sent, so that an unknown parameter is named and not lost. */
const object = shape.anyNames({ limit: 80 });

export const updateBody = v.pipe(
  v.object({
    set: v.nullish(object, {}),
    reset: v.nullish(v.pipe(v.array(v.string()), v.examples([['mode']])), []),
  }),
  shape.example({ set: { limit: 80 }, reset: ['mode'] }),
);

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
