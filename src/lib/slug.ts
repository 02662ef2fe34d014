/** Slugs of devices and rules, and ids (docs/interface/http.md#values). */

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
