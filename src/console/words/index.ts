/**
 * The words of the console in the reader's language, loaded before anything is drawn. A page is in one language from
 * its first word to its last: another choice loads it anew.
 */
import { en } from './en.ts';
import { type Language, LANGUAGES, languageOf } from './language.ts';

/** Those that can be chosen. */
export { LANGUAGES, type Language };

/** Functions of a browser, which a test outside of one lacks. */
interface Reader {
  document?: { documentElement: { lang: string } };
  navigator?: { languages?: readonly string[] };
  localStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void };
  location: { reload(): void };
}

const reader = globalThis as unknown as Reader;
const KEY = 'language';

const wanted = reader.document
  ? languageOf(reader.localStorage.getItem(KEY), reader.navigator?.languages ?? [])
  : 'en';

/** English is used when the file of the other language is missing, which an upgrade may have removed. */
async function wordsOf(language: Language): Promise<{ language: Language; words: typeof en }> {
  if (language === 'en') return { language, words: en };
  return import('./de.ts').then(
    (words) => ({ language, words }),
    () => ({ language: 'en', words: en }),
  );
}

const shown = await wordsOf(wanted);

/** Words of the start and of the overview, by subject; the rest is in `later.ts`. */
export const say: typeof en = shown.words;

/** The language of `say`. */
export const language: Language = shown.language;

/** How numbers and dates are written, as `Intl` takes it. */
export const locale = { en: 'en-GB', de: 'de-DE' }[language];

if (reader.document) reader.document.documentElement.lang = language;

/** Keeps the choice in this browser, and shows it. */
export function choose(chosen: Language): void {
  reader.localStorage.setItem(KEY, chosen);
  reader.location.reload();
}
