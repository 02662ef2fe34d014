export {
  type ApiDescriptionOptions,
  createDocument,
  describeApi,
  DONE,
  exampleOf,
  type PathParameter,
} from './openapi.ts';
export { createJsonSchemas, type JsonSchema } from './json-schema.ts';
