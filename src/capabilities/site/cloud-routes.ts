/**
 * Operations that exist in the cloud deployment of the interface only. They are refused with a code of their
 * own, so that a client can tell them from a wrong path (docs/interface/http.md#cloud-operations).
 */
import { type GatewayError, unprocessable } from '../../lib/errors.ts';
import type { Method, Route } from '../../platform/http/index.ts';
import { sitePaths } from './paths.ts';

const COLLECTIONS = ['connections', 'invitations', 'users', 'tokens', 'notifications'];

const PATHS = COLLECTIONS.flatMap((name) =>
  [`/v3/${name}`, ...sitePaths(`/${name}`)].flatMap((path) => [path, `${path}/{cloud_id}`]),
);

const TERMINAL_PATHS: [string, ...string[]] = [
  '/v3/devices/{device_id}/run_terminal',
  ...sitePaths('/devices/{device_id}/run_terminal'),
];

const METHODS: readonly Method[] = ['GET', 'POST', 'PATCH', 'DELETE'];

export function cloudRoutes(): Route[] {
  const [first = '', ...others] = PATHS;
  return [
    cloudRoute('run_terminal', 'POST', TERMINAL_PATHS),
    ...METHODS.map((method) =>
      cloudRoute(`${method.toLowerCase()}_cloud_resource`, method, [first, ...others]),
    ),
  ];
}

function cloudRoute(operation: string, method: Method, paths: Route['paths']): Route {
  return {
    operation,
    method,
    paths,
    role: 'READONLY',
    about: 'Belongs to the cloud deployment.',
    answer: null,
    unresolved: ['site_id', 'device_id'],
    errors: ['422 not_available_on_gateway'],
    handle: () => {
      throw notAvailable('This belongs to the cloud deployment; a gateway does not have it.');
    },
  };
}

export function notAvailable(message: string): GatewayError {
  return unprocessable('not_available_on_gateway', message);
}
