/** Our Lua against what a native Lua 5.4 prints; `scripts/checks/lua-oracle.ts` makes the expected files. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { textOf } from '../../../src/scripting/lua/index.ts';
import { testScript, type TestScriptOptions } from '../../support/lua.ts';

const FOLDER = join(import.meta.dirname, 'conformance');
const programs = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.lua'))
  .map((name) => name.replace(/\.lua$/, ''));

/** The programs write through `io.write`, which scripts do not have. */
const WRITE = {
  name: 'write',
  source: `
local host = ...
local tostring, select = tostring, select
io = { write = function(...) for i = 1, select('#', ...) do host.write(tostring((select(i, ...)))) end end }
`,
};

async function outputOf(program: string, options: TestScriptOptions = {}): Promise<string> {
  let output = '';
  const functions = {
    write: ([text]: unknown[]) => void (output += textOf(text as Buffer) ?? ''),
    print: ([text]: unknown[]) => void (output += `${textOf(text as Buffer)}\n`),
  };
  const { run } = testScript({ ...options, libraries: [WRITE], functions });
  const failure = await run(readFileSync(join(FOLDER, `${program}.lua`), 'utf8'), `${program}.lua`);
  assert.equal(failure, undefined);
  return output;
}

/** What they print is asked here, not how fast: a machine with much else to do takes its time. */
const UNHURRIED = { turnMs: 60_000, processorBurstMs: 60_000 };

describe('Lua programs print what the native interpreter prints', () => {
  for (const program of programs) {
    const expected = readFileSync(join(FOLDER, `${program}.out`), 'utf8');
    test(program, async () => {
      assert.equal(await outputOf(program, { limits: UNHURRIED }), expected);
    });

    test(`${program} prints what the native interpreter prints, paused again and again at odd instructions`, async () => {
      for (const hookInstructions of [5, 13, 101]) {
        const limits = { ...UNHURRIED, hookInstructions, sliceMs: 0 };
        assert.equal(await outputOf(program, { limits }), expected, `${hookInstructions} instructions`);
      }
    });
  }
});
