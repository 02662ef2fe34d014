import { messageOf } from '../../lib/errors.ts';
import { codeOf } from '../../lib/system-fault.ts';
import { connectThread, processorMs } from '../threads/index.ts';
import type { Answer, Question } from './task-worker.ts';

/** Called once by the entry of a worker thread: answers every task with what `handle` makes of its input. */
export function serveTasks(handle: (input: never) => unknown): void {
  const { post, onMessage } = connectThread<undefined, Question<never>, Answer<unknown>>();
  const answer = async ({ number, input }: Question<never>): Promise<Answer<unknown>> => {
    try {
      return { number, output: await handle(input), processorMs: processorMs() };
    } catch (error) {
      return { number, failure: messageOf(error), code: codeOf(error), processorMs: processorMs() };
    }
  };
  onMessage((question) => void answer(question).then((message) => post(message)));
}
