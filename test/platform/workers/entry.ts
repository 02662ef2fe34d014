/** A thread that does what it is asked: answer, fail, be refused something, loop, stand still, fill its memory, nest values, end. */
import { serveTasks } from '../../../src/platform/workers/index.ts';

const kept: unknown[] = [];

serveTasks((input: { kind: string; value?: unknown }) => {
  switch (input.kind) {
    case 'fail':
      throw new Error('as asked');
    case 'refused':
      throw new Error('the work failed', { cause: Object.assign(new Error('no'), { code: 'EMFILE' }) });
    case 'loop':
      for (;;);
    case 'stand':
      return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    case 'fill':
      for (;;) kept.push(Array.from({ length: 1_000 }, (_, index) => ({ index })));
    case 'nest': {
      let value: unknown;
      for (let level = 0; level < Number(input.value); level += 1) value = { value };
      return value;
    }
    case 'crash':
      setImmediate(() => {
        throw new Error('boom');
      });
      return new Promise(() => {});
    default:
      return input.value;
  }
});
