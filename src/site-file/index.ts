export { Api } from './api.ts';
export { apply, type Outcome } from './plan.ts';
export { type Environment, readSiteFile } from './read.ts';
export { withOwnToken } from './token.ts';
