export { RecentLines } from './recent-lines.ts';
export {
  createLog,
  createStreamLog,
  type Log,
  type LogFields,
  type LogFormat,
  type LogLevel,
} from './log.ts';
