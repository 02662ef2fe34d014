export { serveTasks, TaskFailure, type TaskTerms, TaskWorker } from './task-worker.ts';
