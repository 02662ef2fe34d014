export { hostScripts, type HostedScript, type RunPort } from './inside.ts';
export { type ScriptRun, ScriptThreads, type ThreadLoss } from './threads.ts';
export { ToldTexts } from './told-texts.ts';
