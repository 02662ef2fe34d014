export { packagePath, readTree } from './files.ts';
export { readPrivateFile, removeFile, writePrivateFile } from './private-files.ts';
