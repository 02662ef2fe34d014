export { hostScripts, type HostedScript, type RunPort } from './inside.ts';
export { type ScriptRun, ScriptThreads, type ThreadLoss } from './threads.ts';
export { RepeatFilter } from './repeat-filter.ts';
