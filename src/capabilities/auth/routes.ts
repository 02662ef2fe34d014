/** Operations on access: an extension of the interface under `/v3/auth`. */
import { route, type Route } from '../../platform/http/index.ts';
import type { Auth } from './service.ts';

export function authRoutes(_auth: Auth): Route[] {
  return [
    route({
      operation: 'get_me',
      method: 'GET',
      paths: ['/v3/auth/me'],
      role: 'READONLY',
      handle: ({ principal: { origin, role } }) => ({
        me: { kind: origin.kind, id: origin.id, name: origin.name, role },
      }),
    }),
  ];
}
