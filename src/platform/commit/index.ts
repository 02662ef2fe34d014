export { CommitGroup } from './commit-group.ts';
