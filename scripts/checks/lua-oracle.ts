/** Runs the conformance programs of `test/scripting/lua/conformance/` with a native Lua 5.4 and keeps what they print. */
import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseWords, runScript } from '../support/arguments.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'test', 'scripting', 'lua', 'conformance');

const HELP = `Usage: npm run check -- lua-oracle [--lua <command>]

Runs every test/scripting/lua/conformance/<program>.lua with a native Lua and writes its output to <program>.out.
The tests compare the gateway's Lua with these files.

  --lua <command>  the interpreter (default lua5.4, Debian package lua5.4)
  --help           this text`;

await runScript(async () => {
  const values = parseWords({
    lua: { type: 'string', default: 'lua5.4' },
    help: { type: 'boolean', default: false },
  });
  if (values.help) console.log(HELP);
  else
    for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.lua'))) {
      const output = execFileSync(values.lua, [file], { cwd: FOLDER, env: { TZ: 'UTC' } });
      writeFileSync(join(FOLDER, file.replace(/lua$/, 'out')), output);
      console.log(`${file}  ${output.length} bytes`);
    }
  return 0;
});
