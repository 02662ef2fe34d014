export { packagePath, readTree } from './files.ts';
