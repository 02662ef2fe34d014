export {
  effectiveRole,
  ISSUABLE_ROLES,
  type AuthEvents,
  type IssuableRole,
  type NewToken,
  type TokenKind,
  type TokenRecord,
  type User,
} from './model.ts';
export { authRoutes } from './routes.ts';
export { Auth, type AuthOptions } from './service.ts';
export type { Session, SignIn } from './sign-in.ts';
export type { TokenRequest, Tokens } from './tokens.ts';
export type { Users } from './users.ts';
export { authRows } from './tables.ts';
