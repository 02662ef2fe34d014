/** Texts of bounded size, and names without misleading characters. */

/**
 * The longest beginning of `text` whose UTF-8 has at most `bytesMax` bytes; never ends within a character. Half of a
 * surrogate pair becomes U+FFFD when it is encoded.
 */
export function cutToBytes(text: string, bytesMax: number): string {
  // A UTF-16 unit has at most three bytes in UTF-8, so most texts need no encoding.
  if (text.length * 3 <= bytesMax) return text;
  // Each unit has one byte at least, so no more of a long text is encoded.
  const bytes = Buffer.from(text.slice(0, bytesMax), 'utf8');
  if (bytes.length <= bytesMax && text.length <= bytesMax) return text;
  let end = bytesMax;
  // Continuation bytes are 10xxxxxx (RFC 3629): step back to the first byte of the character that is cut.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/**
 * Characters that are invisible, or change how others look: control, format (zero width, direction of writing), private
 * and unassigned characters, separators of lines, and letters without ink (Unicode 17, "Default_Ignorable_Code_Point").
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** Scripts whose letters take other forms beside a joiner: in them it belongs to the spelling (RFC 5892 appendix A.1, A.2). */
const JOINING =
  '\\p{sc=Arab}\\p{sc=Syrc}\\p{sc=Deva}\\p{sc=Beng}\\p{sc=Guru}\\p{sc=Gujr}\\p{sc=Orya}\\p{sc=Taml}\\p{sc=Telu}\\p{sc=Knda}\\p{sc=Mlym}\\p{sc=Sinh}';
/** Joiners between such letters, and those that make one picture of several. */
const JOINERS = new RegExp(
  `(?<=[${JOINING}])[\\u200C\\u200D](?=[${JOINING}])|(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\uFE0F])\\u200D(?=\\p{Extended_Pictographic})`,
  'gu',
);
/** They choose between text and picture of the character before; keyboards send them. */
const VARIATION_SELECTORS = new Set(['\uFE0E', '\uFE0F']);

/**
 * The name as it is stored: composed (Unicode NFC), with ordinary blanks only, and none around it. Half of a surrogate pair
 * becomes U+FFFD, because it cannot be stored as UTF-8.
 */
export function normalizedName(text: string): string {
  return text
    .toWellFormed()
    .normalize('NFC')
    .replace(/\p{Zs}/gu, ' ')
    .trim();
}

/** Why people could mistake a name for another one; undefined when they cannot. Follows "the name" in a sentence. */
export function nameProblem(name: string): string | undefined {
  const unseen = withoutJoiners(name)
    .match(UNSEEN)
    ?.find((found) => !VARIATION_SELECTORS.has(found));
  if (unseen === undefined) return undefined;
  const code = (unseen.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `must not contain control, invisible or unassigned characters such as U+${code}`;
}

/** Why a normalized name cannot be stored; undefined when it can. Follows "the name" in a sentence. */
export function storedNameProblem(name: string, lengthMax: number): string | undefined {
  if (name === '') return 'must not be empty';
  if (Array.from(name).length > lengthMax) return `must have at most ${lengthMax} characters`;
  return nameProblem(name);
}

/** Characters that end a line in some program, or turn the direction of the text behind them. */
const LINE_BREAKING = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]+/gu;

/** A text that others made up, in one line: it can neither begin a line nor a header of its own. */
export function inOneLine(text: string): string {
  return text.replace(LINE_BREAKING, ' ').replace(/ {2,}/g, ' ').trim();
}

/** Whether a stored name contains the part, in any case and with its letters composed in any way. */
export function nameContains(name: string, part: string): boolean {
  return withoutJoiners(name).toLowerCase().includes(withoutJoiners(part).normalize('NFC').toLowerCase());
}

/** Equal for names that differ in case, in joiners or in the form of their letters only (Unicode NFKC). */
export function foldedName(name: string): string {
  return withoutJoiners(name).normalize('NFKC').toLowerCase();
}

function withoutJoiners(text: string): string {
  return text.replace(JOINERS, '');
}

// Suggestions for mistyped names.

/** In names of up to so many letters, two other letters make another word. */
const SHORT_NAME = 4;

/**
 * The known name that was meant: at most two letters were forgotten, doubled, replaced or swapped, one in a short name. The
 * case of letters does not count.
 */
export function nearName(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = name.length <= SHORT_NAME ? 2 : 3;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** `, did you mean "unit"?` where a known name is near; else nothing. */
export function nearNameHint(name: string, known: readonly string[]): string {
  const best = nearName(name, known);
  return best === undefined ? '' : `, did you mean "${best}"?`;
}

/** Number of insertions, deletions, replacements and swaps of neighbours between two texts; at most `limit`. */
function editDistance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) >= limit) return limit;
  let before: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swapped = isSwapped ? (before[column - 2] ?? limit) + 1 : limit;
      current.push(Math.min(replaced, swapped, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    [before, previous] = [previous, current];
  }
  return Math.min(previous[to.length] ?? limit, limit);
}

// Slugs of devices and rules, and ids (docs/interface/http.md#values).

const SLUG = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const BASE_LENGTH_MAX = 56;

/** A slug never has the form of an id, so that one path segment can take either. */
export function isSlug(text: string): boolean {
  return SLUG.test(text) && !UUID.test(text.toLowerCase());
}

/** Letters that Unicode does not decompose into a base letter and a mark, as people write them in ASCII. */
const LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ß: 'ss',
    æ: 'ae',
    œ: 'oe',
    ø: 'o',
    ł: 'l',
    đ: 'd',
    ð: 'd',
    þ: 'th',
    ħ: 'h',
    ı: 'i',
    ŧ: 't',
    ŋ: 'n',
  }),
);

/**
 * A free slug made from a name: lower case, diacritics stripped, other runs become `-`, and `-2`, `-3` …
 * on collision. `fallback` serves when nothing of the name is left.
 */
export function slugFromName(name: string, fallback: string, isTaken: (slug: string) => boolean): string {
  const base =
    name
      .normalize('NFKD')
      .replace(/\p{Mark}/gu, '')
      .toLowerCase()
      .replace(/[^a-z0-9]/g, (letter) => LETTERS.get(letter) ?? letter)
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+/, '')
      .slice(0, BASE_LENGTH_MAX)
      .replace(/(?<!-)-+$/, '') || fallback;
  let candidate = base;
  for (let suffix = 2; isTaken(candidate) || !isSlug(candidate); suffix++)
    candidate = `${base.slice(0, BASE_LENGTH_MAX - 6).replace(/(?<!-)-+$/, '')}-${suffix}`;
  return candidate;
}
