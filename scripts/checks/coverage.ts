/** `npm run check -- coverage`: the rows of the contract's tables with the tests that exercise each. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { coverageOf, outcomeReport, outcomesOf, report, type TracedLine } from './coverage/coverage.ts';
import { parseArguments, runScript, whole } from '../support/arguments.ts';

const HELP = `Usage: npm run --silent check -- coverage [options] [test files]

Runs the contract and flow tests and records every request they send. Lists each row of the contract's
operation and alias tables (test/contract/operations.ts) and each line of the client matrix with the tests
that exercise it, then the answers that every role and callers without a token got on each path. Ends with
status 1 if a row has no test, a role made no call, or a test fails.

  --titles N   test titles per row (default 3; 0 for none)
  --help       this text`;

const TESTS = ['test/contract/**/*.test.ts', 'test/flows/**/*.test.ts'];

function run(patterns: readonly string[], titlesShown: number): number {
  const folder = mkdtempSync(join(tmpdir(), 'coverage-'));
  const file = join(folder, 'trace.jsonl');
  try {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--test', '--test-reporter=dot', '--test-concurrency=2', ...patterns],
      {
        cwd: join(import.meta.dirname, '..', '..'),
        env: { ...process.env, CONTRACT_TRACE_FILE: file },
        encoding: 'utf8',
      },
    );
    if (status !== 0) {
      console.error(`${stdout}${stderr}\nThe tests failed, so there is no coverage to tell.`);
      return 1;
    }
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as TracedLine);
    const rows = coverageOf(lines);
    const outcomes = outcomesOf(lines);
    const empty = rows.filter(({ tests }) => tests.length === 0);
    const cells = outcomes.flatMap(({ statuses }) => Object.values(statuses));
    const emptyCells = cells.filter((cell) => cell.length === 0);
    console.log(report(rows, titlesShown));
    console.log(`\n${outcomeReport(outcomes)}`);
    console.log(
      `\n${rows.length} rows, ${lines.length} requests, ${empty.length} rows without a test\n` +
        `${cells.length} outcomes by path and role, ${emptyCells.length} never asked for`,
    );
    return empty.length === 0 && emptyCells.length === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await runScript(async () => {
  const { values, positionals } = parseArguments({
    titles: { type: 'string', default: '3' },
    help: { type: 'boolean', default: false },
  });
  const titles = whole('titles', values.titles, 0, 1_000_000) ?? 0;
  if (!values.help) return run(positionals.length > 0 ? positionals : TESTS, titles);
  console.log(HELP);
  return 0;
});
