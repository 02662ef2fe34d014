export { createTaskWorker, TaskFailure, type TaskWorker, type TaskWorkerOptions } from './task-worker.ts';
export { serveTasks } from './serve.ts';
