export { createCommitGroup, type CommitGroup } from './commit-group.ts';
