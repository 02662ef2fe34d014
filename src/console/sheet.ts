/** Files that the spreadsheets of the reader's language open as a table, with times as their clocks show them. Pure. */
import type { EpochMs } from '../lib/time.ts';
import { language } from './words/index.ts';
import { clockOf, zone } from './zone.ts';

type Cell = string | number | null | undefined;

const [BETWEEN, MARK] = language === 'de' ? [';', ','] : [',', '.'];
const DIGITS = 9;
/** Without it some take the letters for others. */
const BYTE_ORDER = '\ufeff';

export function sheetOf(rows: readonly (readonly Cell[])[]): string {
  return `${BYTE_ORDER}${rows.map((row) => `${row.map(textOf).join(BETWEEN)}\r\n`).join('')}`;
}

function textOf(cell: Cell): string {
  // Means have more digits than their measurements.
  if (typeof cell === 'number') return String(Number(cell.toPrecision(DIGITS))).replace('.', MARK);
  return /[";,\n]/.test(cell ?? '') ? `"${(cell ?? '').replaceAll('"', '""')}"` : (cell ?? '');
}

/** `2026-11-22 14:05:00`, which all of them know for a time, where the site is. */
export function sheetTime(atMs: EpochMs, timeZone = zone.value): string {
  const { year, month, day, hour, minute, second } = clockOf(atMs, timeZone);
  return `${year}-${month}-${day} ${hour}:${minute}:${second}`;
}
