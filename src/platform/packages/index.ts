export {
  describePackage,
  type DebPackage,
  PackageError,
  type PackageProblem,
  requireInstallable,
} from './deb-package.ts';
export {
  type InstalledVersion,
  judgePackage,
  publicKeyOf,
  signPackage,
  updateKeyFiles,
  verifyPackage,
} from './signature.ts';
export {
  TRIAL_FAILURE_REASONS,
  type TrialFailure,
  UpdateFolder,
  type UpdateOutcome,
} from './update-folder.ts';
