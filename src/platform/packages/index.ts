export {
  describePackage,
  type DebPackage,
  PackageError,
  type PackageProblem,
  requireInstallable,
} from './deb-package.ts';
export { type InstalledVersion, judgePackage, updateKeyFiles } from './package-check.ts';
export { publicKeyOf, signPackage, verifyPackage } from './signature.ts';
export {
  TRIAL_FAILURE_REASONS,
  type TrialFailure,
  UpdateFolder,
  type UpdateOutcome,
} from './update-folder.ts';
