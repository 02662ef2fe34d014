/** The crash check on the terminal. */
import type { Problem } from './journal.ts';
import type { KillReport } from './run.ts';

const PROBLEMS_SHOWN = 50;

const COLUMNS: readonly [title: string, cell: (report: KillReport) => string][] = [
  ['kill', (report) => String(report.number)],
  ['phase', (report) => report.phase],
  ['after ms', (report) => report.afterMs.toFixed(0)],
  ['end ms', (report) => report.exit.tookMs.toFixed(0)],
  ['restart ms', (report) => report.restartMs.toFixed(0)],
  ['samples', (report) => String(report.samples)],
  ['logs', (report) => String(report.logs)],
  ['settings', (report) => String(report.settings)],
  ['properties', (report) => String(report.properties)],
  ['executions', (report) => String(report.executions)],
  ['verify ms', (report) => report.verifyMs.toFixed(0)],
  ['problems', (report) => String(report.problems.length)],
];

export function tableHead(): string {
  return COLUMNS.map(([title]) => title.padStart(10)).join(' ');
}

export function tableRow(report: KillReport): string {
  return COLUMNS.map(([title, cell]) => cell(report).padStart(Math.max(10, title.length))).join(' ');
}

export function problemLines(problems: readonly Problem[]): string {
  const lines = problems.slice(0, PROBLEMS_SHOWN).map(({ kind, item }) => `  ${kind}: ${item}`);
  if (problems.length > PROBLEMS_SHOWN) lines.push(`  … and ${problems.length - PROBLEMS_SHOWN} more`);
  return lines.join('\n');
}
