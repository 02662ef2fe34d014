export { DatedFiles, FolderFailure, folderPathProblem, inFolder, isOnOtherDisk } from './dated-files.ts';
export { DOCUMENT_FILE, DOCUMENTS_FOLDER, keptFiles, readBeside, removeUnknown } from './kept-files.ts';
export {
  installedVersion,
  isGone,
  isLasting,
  isThere,
  keepStream,
  makePrivateFolder,
  packagePath,
  packageVersion,
  readNote,
  readPlainFile,
  readPrivateFile,
  readTree,
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
export { RESTORED_KEYS_FILE, secretKeysIn, secretKeysPath, SecretSealer } from './secret-sealer.ts';
