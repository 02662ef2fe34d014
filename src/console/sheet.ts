/** Files that the spreadsheets of the reader's language open as a table, with times as their clocks show them. Pure. */
import type { EpochMs } from '../lib/time.ts';
import { language } from './words/index.ts';
import { timeFormat, zone } from './zone.ts';

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
  const parts = timeFormat('en-GB', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(atMs);
  const part = (type: string): string => parts.find((one) => one.type === type)?.value ?? '';
  const day = [part('year'), part('month'), part('day')].join('-');
  return `${day} ${[part('hour'), part('minute'), part('second')].join(':')}`;
}
