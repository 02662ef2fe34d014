export {
  ISSUABLE_ROLES,
  isIssuable,
  type AuthEvents,
  type IssuableRole,
  type NewToken,
  type TokenRecord,
} from './model.ts';
export { authRoutes } from './routes.ts';
export { createAuth, type Auth, type AuthOptions, type TokenRequest } from './service.ts';
