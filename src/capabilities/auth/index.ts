export { ISSUABLE_ROLES, type IssuableRole, type TokenRecord } from './model.ts';
export { authRoutes } from './routes.ts';
export { Auth } from './service.ts';
export { authRows } from './tables.ts';
