export { createDocument } from './document.ts';
export { exampleOf } from './example.ts';
export { createJsonSchemas, type JsonSchema } from './json-schema.ts';
export { type ApiDescriptionOptions, describeApi, DONE, type PathParameter } from './openapi.ts';
