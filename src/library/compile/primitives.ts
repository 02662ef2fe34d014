/** What the shapes of a template are made of. */
import * as v from 'valibot';

export const name = v.pipe(
  v.string(),
  v.regex(/^[a-z][a-z0-9_]*$/, 'must be snake_case, such as total_power'),
);
export const text = v.pipe(v.string(), v.nonEmpty('must not be empty'));
export const scalar = v.union([v.string(), v.number(), v.boolean()]);
/** Which word of a number in several registers comes first. */
export const wordOrder = v.picklist(['high_first', 'low_first']);
