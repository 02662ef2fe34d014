export { DatedPieces } from './dated-pieces.ts';
export { installedVersion, packagePath, packageVersion, readTree } from './files.ts';
export { FolderFailure, folderPathProblem, inFolder, isOnOtherDisk } from './mounted-folder.ts';
export { isLasting } from './lasting.ts';
export { RESTORED_KEYS_FILE, secretKeysIn, secretKeysPath, SecretSealer } from './secret-sealer.ts';
export {
  isGone,
  isThere,
  keepStream,
  makePrivateFolder,
  readNote,
  readPlainFile,
  readPrivateFile,
  removeFile,
  removeTree,
  requireNoObstacle,
  requireUsableFile,
  syncBeside,
  syncFile,
  syncFolder,
  unlessAbsent,
  writePrivateFile,
} from './private-files.ts';
