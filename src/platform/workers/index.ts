export {
  createTaskWorker,
  TaskFailure,
  type TaskTerms,
  type TaskWorker,
  type TaskWorkerOptions,
} from './task-worker.ts';
export { serveTasks } from './serve.ts';
