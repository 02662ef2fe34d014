/** Code that was optimized for objects of a class outlives them; the runtime tells. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';

const MODULE = new URL('../../src/lib/kept-shapes.ts', import.meta.url).href;

/** Whether a function that was optimized still is, before and after a collection that finds no object in use. */
const PROGRAM = `
class Reader {
  #offset = 0;
  next() { return ++this.#offset; }
}
const read = (keep) => keep(new Reader()).next();
%PrepareFunctionForOptimization(read);
for (let time = 0; time < 3; time++) read(keep);
%OptimizeFunctionOnNextCall(read);
read(keep);
const before = %ActiveTierIsTurbofan(read);
// What this turn has touched stays until it ends.
setImmediate(() => {
  gc();
  console.log(JSON.stringify([before, %ActiveTierIsTurbofan(read)]));
});
`;

async function isOptimizedBeforeAndAfter(keep: string): Promise<unknown> {
  const flags = ['--allow-natives-syntax', '--expose-gc', '--input-type=module', '--eval'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, keep + PROGRAM]);
  return JSON.parse(stdout);
}

describe('code for objects that live for a moment', () => {
  test('stays optimized while the last of them is kept', async () => {
    const keep = `import { keepShape as keep } from '${MODULE}';`;
    assert.deepEqual(await isOptimizedBeforeAndAfter(keep), [true, true]);
  });

  test('is thrown away with the last of them otherwise: the runtime still is as it was', async () => {
    assert.deepEqual(await isOptimizedBeforeAndAfter('const keep = (object) => object;'), [true, false]);
  });
});
