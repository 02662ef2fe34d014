/** Writes the table of options into README, between its two marks. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { optionTable } from '../src/platform/config/index.ts';
import { parseWords, runScript } from './support/arguments.ts';

const HELP = `Usage: npm run options

Writes the table of configuration options into README.md, between the marks
"options: begin" and "options: end". A test fails while README differs.`;

await runScript(async () => {
  const values = parseWords({ help: { type: 'boolean', default: false } });
  if (values.help) {
    console.log(HELP);
  } else {
    const path = join(import.meta.dirname, '..', 'README.md');
    const before = readFileSync(path, 'utf8');
    const after = before.replace(
      /(<!-- options: begin -->\n)[\s\S]*?(<!-- options: end -->)/,
      (_, begin: string, end: string) => `${begin}\n${optionTable()}\n\n${end}`,
    );
    if (after === before) console.log('README.md is up to date');
    else {
      writeFileSync(path, after);
      console.log('README.md written');
    }
  }
  return 0;
});
