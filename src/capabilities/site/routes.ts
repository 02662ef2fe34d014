import { notFound } from '../../lib/errors.ts';
import { type Call, listed, route, type Route, shape } from '../../platform/http/index.ts';
import { cloudRoutes, notAvailable } from './cloud-routes.ts';
import { sitePaths } from './paths.ts';
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
