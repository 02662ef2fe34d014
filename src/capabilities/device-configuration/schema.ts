/** Requests of configuration operations as they stand on the wire (docs/interface/http.md#configuration). */
import * as v from 'valibot';
import { query, shape } from '../../platform/http/index.ts';

export const getQuery = v.object({
  param_names: query.optionalList('Only these parameters of the group. Absent: all.'),
  expand: query.choices(['hidden'], 'Members that the answer has beyond the usual ones.'),
});

/** Kept as sent, so that an unknown parameter is named and not lost. */
const object = shape.anyNames({ max_charge_power_w: 4_000 });

export const updateBody = v.pipe(
  v.object({
    set: v.nullish(object, {}),
    reset: v.nullish(v.pipe(v.array(v.string()), v.examples([['minimum_soc_percent']])), []),
  }),
  shape.example({ set: { max_charge_power_w: 4_000 }, reset: ['minimum_soc_percent'] }),
);

export const configurationShape = v.object({
  configuration: v.pipe(
    shape.anyObject(),
    v.description(
      'Parameter → value; without parameters that have neither value nor default, or are sensitive.',
    ),
    v.examples([{ max_charge_power_w: 4_000, minimum_soc_percent: 10 }]),
  ),
  hidden: v.optional(
    shape.about(
      v.array(v.string()),
      'With expand=hidden: sensitive parameters that have been set, whatever `param_names` says.',
    ),
  ),
});
