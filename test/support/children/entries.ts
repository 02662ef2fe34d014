/**
 * Runs entry files of programs one after another in this process, so that what they share is loaded once. Its argument is a
 * JSON list of command lines `[file, ...words]`; it prints a JSON list of what each printed and its exit code.
 */
import { writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

async function run(file: string, words: readonly string[], index: number) {
  process.argv.splice(1, Infinity, file, ...words);
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    process[name].write = (text: unknown) => {
      printed[name] += String(text);
      return true;
    };
  process.exitCode = 0;
  const url = pathToFileURL(file);
  // A module runs once for each address.
  url.searchParams.set('run', String(index));
  await import(url.href);
  return { status: process.exitCode, ...printed };
}

const results = [];
for (const [index, [file = '', ...words]] of (JSON.parse(process.argv[2] ?? '[]') as string[][]).entries())
  results.push(await run(file, words, index));
process.exitCode = 0;
writeSync(process.stdout.fd, JSON.stringify(results));
