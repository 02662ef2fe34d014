/**
 * The words of the console in the language of whoever reads, there before anything is drawn. A page is in one language
 * from its first word to its last: another choice loads it anew.
 */
import { en } from './en.ts';
import { type Language, LANGUAGES, languageOf } from './language.ts';

/** Those that can be chosen. */
export { LANGUAGES, type Language };

/** What a browser has, and a test outside of one has not. */
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

/** Without the other words, which an upgrade may have taken away, the console speaks English. */
async function wordsOf(language: Language): Promise<{ language: Language; words: typeof en }> {
  if (language === 'en') return { language, words: en };
  return import('./de.ts').then(
    (words) => ({ language, words }),
    () => ({ language: 'en', words: en }),
  );
}

const shown = await wordsOf(wanted);

/** What is said at the start and on the overview, by subject; the rest is in `later.ts`. */
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
