export type { Answered } from './operation.ts';
export { acceptsGzip, attachment, attachmentHeaders, JSON_HEADERS, listed, statusOf } from './responses.ts';
export type { Call } from './call.ts';
export type { RouteGroup } from './route.ts';
export { issueText, parseBody } from './parse.ts';
export * as query from './query.ts';
export * as shape from './wire-schema.ts';
export type { Principal, StreamSocket } from './exchange.ts';
export { route, stream, type MediaAnswer, type Method, type Route, type Stream } from './route.ts';
export {
  endedSessionCookies,
  refuseForeignForm,
  SESSION_COOKIES,
  sessionCookie,
  sessionTokensOf,
} from './session-cookie.ts';
export { Http, type HttpOptions } from './server.ts';
