/** The form of a device template as JSON Schema, for editors that complete and check YAML. */
import { toJsonSchema } from '@valibot/to-json-schema';
import { templateSchema } from './compile/template.ts';

type Json = Record<string, unknown>;

/** Draft 7, which editors know best. */
export function templateJsonSchema(): Json {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Device template',
    ...converted(templateSchema),
  };
}

type Schema = Parameters<typeof toJsonSchema>[0];

function converted(schema: Schema): Json {
  const {
    $schema: _version,
    definitions: _definitions,
    ...own
  } = toJsonSchema(schema, {
    target: 'draft-07',
    typeMode: 'input',
    errorMode: 'throw',
    // JSON has no other numbers.
    ignoreActions: ['finite'],
    // Which shape a value, a step or a request has follows from its keys: an editor sees all of them.
    overrideSchema: ({ valibotSchema }) =>
      'options' in valibotSchema && valibotSchema.type === 'lazy'
        ? { anyOf: (valibotSchema.options as Schema[]).map(converted) }
        : undefined,
  });
  return own;
}
