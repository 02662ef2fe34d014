export { ISSUABLE_ROLES, type IssuableRole, type TokenRecord } from './model.ts';
export { authRoutes } from './routes.ts';
export { newUserBody } from './schema.ts';
export { Auth } from './service.ts';
