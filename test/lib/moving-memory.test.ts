/** Code that was optimized stays so when a thread gives memory away; the runtime tells. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';

const MODULE = new URL('../../src/lib/moving-memory.ts', import.meta.url).href;

/** Whether a function that was optimized still is, before and after the first memory moves. */
const PROGRAM = `
const sum = (numbers) => {
  let all = 0;
  for (let index = 0; index < numbers.length; index++) all += numbers[index];
  return all;
};
const numbers = new Float64Array(100);
%PrepareFunctionForOptimization(sum);
sum(numbers);
sum(numbers);
%OptimizeFunctionOnNextCall(sum);
sum(numbers);
const before = %ActiveTierIsTurbofan(sum);
const piece = new ArrayBuffer(100);
structuredClone(piece, { transfer: [piece] });
console.log(JSON.stringify([before, %ActiveTierIsTurbofan(sum)]));
`;

async function isOptimizedBeforeAndAfter(first: string): Promise<unknown> {
  const flags = ['--allow-natives-syntax', '--input-type=module', '--eval'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, first + PROGRAM]);
  return JSON.parse(stdout);
}

describe('a program that gives memory away', () => {
  test('keeps its optimized code when it expected that', async () => {
    const first = `import { expectMovingMemory } from '${MODULE}'; expectMovingMemory();`;
    assert.deepEqual(await isOptimizedBeforeAndAfter(first), [true, true]);
  });

  test('loses all of it otherwise: the runtime still is as it was', async () => {
    assert.deepEqual(await isOptimizedBeforeAndAfter(''), [true, false]);
  });
});
