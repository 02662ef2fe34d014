/** The files of the library as they lie in the package, read when they are needed first. */
import { parse } from 'yaml';
import type { LibraryBooks } from '#library';
import { packagePath, readPlainFile, readTree } from '../../platform/files/index.ts';

const FOLDER = ['src', 'library'] as const;
const TEMPLATE = '.yml';

export class LibraryFiles {
  #books: LibraryBooks | undefined;
  #texts: ReadonlyMap<string, string> | undefined;

  /** Id → text: `eastron/sdm630.yml` is `eastron-sdm630`. */
  get texts(): ReadonlyMap<string, string> {
    this.#texts ??= new Map(
      [...readTree(packagePath(...FOLDER, 'devices'))]
        .filter(([path]) => path.endsWith(TEMPLATE))
        .map(([path, content]) => [
          path.slice(0, -TEMPLATE.length).replaceAll('/', '-'),
          content.toString('utf8'),
        ]),
    );
    return this.#texts;
  }

  get books(): LibraryBooks {
    this.#books ??= {
      attributes: bookOf('attributes.yml') as LibraryBooks['attributes'],
      sunSpec: bookOf('sunspec.yml') as LibraryBooks['sunSpec'],
      runtime: Object.fromEntries(
        [...readTree(packagePath(...FOLDER, 'runtime'))].map(([name, content]) => [
          name,
          content.toString('utf8'),
        ]),
      ),
    };
    return this.#books;
  }
}

const bookOf = (name: string): unknown => parse(readPlainFile(packagePath(...FOLDER, name)).toString('utf8'));
