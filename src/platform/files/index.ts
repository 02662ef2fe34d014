export { packagePath, packageVersion, readTree } from './files.ts';
export {
  makePrivateFolder,
  readPrivateFile,
  removeFile,
  syncFile,
  syncFolder,
  writePrivateFile,
} from './private-files.ts';
