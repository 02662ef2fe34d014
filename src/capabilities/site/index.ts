export { sitePaths, siteRoutes } from './routes.ts';
export { newSiteBody, siteShapes, siteToWire } from './schema.ts';
export { createSite, resolveSiteId, type Site } from './service.ts';
