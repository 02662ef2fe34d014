/**
 * Numbers as people type them, in fields of text: a field of the kind `number` drops a comma silently where the browser
 * has another language than its user, and 3,5 becomes 35.
 */
import { language, say } from './words/index.ts';

/** Numbers of the console are copied with their true minus sign. */
const SIGN = '[\\-+−]?';
/** In German both are understood; elsewhere a comma may stand between thousands, and is refused. */
const MARK = language === 'de' ? '[.,]' : '[.]';
const DIGITS = `(?:[0-9]+(?:${MARK}[0-9]*)?|${MARK}[0-9]+)(?:[eE][\\-+]?[0-9]+)?`;
const WHOLE = new RegExp(`^${SIGN}${DIGITS}$`);

/** The number in the text; undefined: none. */
export function typedNumber(text: string): number | undefined {
  const trimmed = text.trim();
  const value = WHOLE.test(trimmed) ? Number(trimmed.replace(',', '.').replaceAll('−', '-')) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}

/** A number as its reader would type it. */
export const textOfNumber = (value: number): string =>
  language === 'de' ? String(value).replace('.', ',') : String(value);

/** Attributes of such a field; the browser refuses what is none, with the title as the reason. */
export const DECIMAL = {
  type: 'text',
  inputMode: 'decimal',
  pattern: ` *${SIGN}${DIGITS} *`,
  title: say.values.number,
} as const;

/** The same without a sign. */
export const DECIMAL_FROM_0 = { ...DECIMAL, pattern: ` *${DIGITS} *` } as const;
