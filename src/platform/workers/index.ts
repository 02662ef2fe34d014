export { TaskWorker, TaskFailure, type TaskTerms } from './task-worker.ts';
export { serveTasks } from './serve.ts';
