export { RecentLines } from './recent-lines.ts';
export { createLog, type Log, type LogFields, type LogFormat, type LogLevel } from './log.ts';
