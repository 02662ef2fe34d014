export { connectToParent, type ParentLink } from './child.ts';
export { programEntry, type ProgramRights } from './launch.ts';
export { Processes } from './processes.ts';
export { Program, type ProgramOptions, type ProgramState } from './program.ts';
export type { Exit } from './run.ts';
export type { Payload } from './wire.ts';
