export type { Answered } from './app.ts';
export { JSON_HEADERS, statusOf } from './answer.ts';
export { createDocument } from './document.ts';
export { createJsonSchemas, type JsonSchema } from './json-schema.ts';
export { type ApiDescriptionOptions, describeApi, type PathParameter } from './openapi.ts';
export type { RouteGroup } from './route.ts';
export { REFERENCE_PAGE_HEADERS, renderReferencePage } from './reference-page.ts';
export * as query from './query.ts';
export * as shape from './wire-schema.ts';
export { roleIncludes, roleOfAccessLevel, ROLES, type Principal, type Role } from './principal.ts';
export {
  route,
  stream,
  type Call,
  type MediaAnswer,
  type Method,
  type Route,
  type Stream,
  type StreamSocket,
} from './route.ts';
export { endedSessionCookies, refuseForeignForm, sessionCookies, sessionTokensOf } from './session-cookie.ts';
export { createHttp, type Http, type HttpOptions } from './server.ts';
