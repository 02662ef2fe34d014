/** Which language somebody reads: the one chosen here, else the first of the browser's that the console has. */

export type Language = 'en' | 'de';

interface Offered {
  value: Language;
  /** Written in the language itself, so that its readers find it. */
  text: string;
}

export const LANGUAGES: readonly Offered[] = [
  { value: 'en', text: 'English' },
  { value: 'de', text: 'Deutsch' },
];

/** @param kept what was chosen @param preferred as the browser has it, such as `de-AT`, the best first */
export function languageOf(kept: string | null, preferred: readonly string[]): Language {
  const wanted = [kept ?? '', ...preferred].map((tag) => tag.toLowerCase().split('-')[0]);
  const found = wanted.find((tag) => LANGUAGES.some(({ value }) => value === tag));
  return (found as Language | undefined) ?? 'en';
}
