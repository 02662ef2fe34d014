/** The form of a device template as JSON Schema, for editors that complete and check YAML. */
import { toJsonSchema } from '@valibot/to-json-schema';
import { templateSchema, VALUE_KINDS } from './compile/template.ts';

type Json = Record<string, unknown>;

/** Draft 7, which editors know best. */
export function templateJsonSchema(): Json {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Device template',
    ...converted(templateSchema),
  };
}

function converted(schema: Parameters<typeof toJsonSchema>[0]): Json {
  const {
    $schema: _version,
    definitions: _definitions,
    ...own
  } = toJsonSchema(schema, {
    target: 'draft-07',
    typeMode: 'input',
    errorMode: 'throw',
    // Which members a value has follows from how it comes about: an editor sees all kinds.
    overrideSchema: ({ valibotSchema: { type } }) =>
      type === 'lazy' ? { anyOf: VALUE_KINDS.map(converted) } : undefined,
  });
  return own;
}
