export { hostScripts, type HostedScript, type RunPort } from './inside.ts';
export type { ScriptTypes, ThreadSetup, Usage } from './messages.ts';
export { type RunEvents, type ScriptRun, ScriptThreads, type ThreadLoss } from './threads.ts';
