import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../lib/errors.ts';
import { LOADED } from '../threads/index.ts';
import type { Answer, Question } from './task-worker.ts';

/** Called once by the entry of a worker thread: answers every task with what `handle` makes of its input. */
export function serveTasks(handle: (input: never) => unknown): void {
  const port = parentPort;
  if (port === null) throw new Error('serveTasks belongs into a worker thread');
  port.postMessage(LOADED);
  port.on('message', (question: Question<never>) => {
    const answer = async (): Promise<Answer<unknown>> => {
      try {
        return { number: question.number, output: await handle(question.input) };
      } catch (error) {
        return { number: question.number, failure: messageOf(error) };
      }
    };
    void answer().then((message) => {
      // A thread has no origin; the rule is about windows.
      port.postMessage(message);
    });
  });
}
