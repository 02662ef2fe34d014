export { sitePaths } from './paths.ts';
