import { type GatewayError, notFound, unprocessable } from '../../lib/errors.ts';
import { type Call, listed, type Method, route, type Route, shape } from '../../platform/http/index.ts';
import {
  existenceQuery,
  isListed,
  listQuery,
  newSiteBody,
  siteShapes,
  siteToWire,
  updateBody,
} from './schema.ts';
import type { Site } from './service.ts';

/** Operations on sites (docs/interface/http.md#sites and docs/interface/http.md#cloud-operations). */
export function siteRoutes(site: Site): Route[] {
  return [...readingRoutes(site), ...changingRoutes(site), ...archivingRoutes(site), ...cloudRoutes()];
}

function readingRoutes(site: Site): Route[] {
  return [
    route({
      operation: 'get_site',
      about: 'The one site of this gateway.',
      answer: siteShapes.one,
      GET: sitePaths(''),
      role: 'READONLY',
      errors: ['404 site_not_found'],
      handle: ({ principal }) => ({ site: siteToWire(site.get(), principal.role) }),
    }),
    route({
      operation: 'list_sites',
      about: 'The one site in a list; hidden if it is archived and the filter excludes that.',
      answer: siteShapes.list,
      GET: ['/v3/sites', '/v3/users/me/sites', '/v3/sites/users/me/sites'],
      role: 'READONLY',
      query: listQuery,
      handle: ({ principal, query }) => {
        const found = [site.get()].filter((one) => isListed(one, query));
        return listed('sites', found, (one) => siteToWire(one, principal.role), query);
      },
    }),
  ];
}

function changingRoutes(site: Site): Route[] {
  return [
    route({
      operation: 'create_site',
      about: 'Belongs to the cloud deployment: a gateway has exactly one site.',
      answer: null,
      POST: ['/v3/sites'],
      role: 'OWNER',
      body: newSiteBody,
      errors: ['422 not_available_on_gateway'],
      handle: () => {
        throw notAvailable('A gateway has exactly one site; no other can be made.');
      },
    }),
    route({
      operation: 'update_site',
      about: 'Changes the given members; null or absent ones stay. `_reset` is applied first.',
      answer: siteShapes.one,
      PATCH: sitePaths(''),
      role: 'OWNER',
      body: updateBody,
      errors: ['404 site_not_found'],
      handle: (call) => ({ site: siteToWire(site.update(call.body), call.principal.role) }),
    }),
    route({
      operation: 'delete_site',
      about: 'Refused for the site of this gateway; other sites do not exist here.',
      answer: shape.nothing(),
      DELETE: [...sitePaths(''), '/v3/sites'],
      role: 'OWNER',
      query: existenceQuery,
      unresolved: ['site_id'],
      errors: ['404 site_not_found', '422 not_available_on_gateway'],
      handle: (call) => {
        if (!isMeant(site, call, call.query.skip_check_existence)) return {};
        throw notAvailable('A gateway keeps its one site; it cannot be deleted.');
      },
    }),
  ];
}

function archivingRoutes(site: Site): Route[] {
  return [
    route({
      operation: 'archive_site',
      about: 'Hides the site from lists; nothing else changes.',
      answer: shape.nothing(),
      POST: sitePaths('/archive'),
      role: 'OWNER',
      query: existenceQuery,
      unresolved: ['site_id'],
      errors: ['404 site_not_found'],
      handle: (call) => {
        if (isMeant(site, call, call.query.skip_check_existence)) site.setArchived(true);
      },
    }),
    route({
      operation: 'unarchive_site',
      about: 'Shows the site in lists again.',
      answer: shape.nothing(),
      POST: sitePaths('/unarchive'),
      role: 'OWNER',
      errors: ['404 site_not_found'],
      handle: () => {
        site.setArchived(false);
      },
    }),
  ];
}

/**
 * True when the call means the site of this gateway, by its id or without one; false for another id that
 * may be missing. @throws GatewayError site_not_found (404)
 */
function isMeant(site: Site, call: Call, mayBeMissing: boolean): boolean {
  const id = call.param('site_id');
  if (id === '' || id === site.get().id) return true;
  if (mayBeMissing) return false;
  throw notFound('site_not_found', `There is no site "${id}" here.`);
}

// Operations that exist in the cloud deployment of the interface only. They are refused with a code of their
// own, so that a client can tell them from a wrong path (docs/interface/http.md#cloud-operations).

const COLLECTIONS = ['connections', 'invitations', 'users', 'tokens', 'notifications'];

const PATHS = COLLECTIONS.flatMap((name) =>
  [`/v3/${name}`, ...sitePaths(`/${name}`)].flatMap((path) => [path, `${path}/{cloud_id}`]),
);

const TERMINAL_PATHS: [string, ...string[]] = [
  '/v3/devices/{device_id}/run_terminal',
  ...sitePaths('/devices/{device_id}/run_terminal'),
];

const METHODS: readonly Method[] = ['GET', 'POST', 'PATCH', 'DELETE'];

function cloudRoutes(): Route[] {
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

function notAvailable(message: string): GatewayError {
  return unprocessable('not_available_on_gateway', message);
}

/** All paths of an operation on the site; the first is the canonical one (docs/interface/http.md#other-names). */
export function sitePaths(suffix: string): [string, ...string[]] {
  return [`/v3/sites/{site_id}${suffix}`, `/v3/site${suffix}`];
}
