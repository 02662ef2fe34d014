/** What a rule of the house is, for the files that list them. */
import type { SourceFile } from './source-files.ts';

export interface TidyRule {
  name: string;
  /** Files the rule is about. */
  holdsIn: (path: string) => boolean;
  /** Index and message of each offence. */
  check: (file: SourceFile) => Iterable<{ index: number; message: string }>;
  /** An offence: where it stands, its text, the message expected; and the same made right (at its own path). */
  planted: { path: string; text: string; message: string; right: string; rightPath?: string };
}

export const inCode = (path: string): boolean => path.endsWith('.ts');

/** The same places without some. */
export const except =
  (holds: (path: string) => boolean, ...places: readonly RegExp[]) =>
  (path: string): boolean =>
    holds(path) && !places.some((place) => place.test(path));
