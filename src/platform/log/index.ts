export {
  createLog,
  createStreamLog,
  type Log,
  type LogFields,
  type LogFormat,
  type LogLevel,
  RecentLines,
} from './log.ts';
