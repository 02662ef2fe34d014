export { createDocument } from './document.ts';
export { createJsonSchemas, type JsonSchema } from './json-schema.ts';
export { type ApiDescriptionOptions, describeApi, type PathParameter } from './openapi.ts';
export { REFERENCE_PAGE_HEADERS, renderReferencePage } from './reference-page.ts';
