export * as query from './query.ts';
export { roleIncludes, roleOfAccessLevel, ROLES, type Principal, type Role } from './principal.ts';
export {
  route,
  stream,
  type Call,
  type Method,
  type Route,
  type Stream,
  type StreamSocket,
} from './route.ts';
