export { packagePath, packageVersion, readTree } from './files.ts';
export {
  makePrivateFolder,
  readPrivateFile,
  removeFile,
  syncFolder,
  writePrivateFile,
} from './private-files.ts';
