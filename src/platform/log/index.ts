export { createLog, type Log, type LogFields, type LogFormat, type LogLevel } from './log.ts';
