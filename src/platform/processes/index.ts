export { connectToParent, type ParentLink, type ParentPort } from './child.ts';
export { programEntry } from './entry.ts';
export type { Exit } from './life.ts';
export {
  createProcesses,
  type Processes,
  type Program,
  type ProgramOptions,
  type ProgramState,
} from './processes.ts';
export type { Payload } from './wire.ts';
