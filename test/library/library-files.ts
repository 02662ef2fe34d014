/** The library as it lies in the sources: books, templates, and the images of devices that prove them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import {
  type CompiledTemplate,
  compileTemplate,
  faultsOf,
  type LibraryBooks,
  parseTemplate,
  TemplateError,
} from '#library';
import type { DeviceImage } from '../../scripts/simulate/device-image.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const LIBRARY = join(PROJECT_ROOT, 'src/library');
const IMAGES = join(PROJECT_ROOT, 'test/library/images');

const yamlOf = (path: string): unknown => parse(readFileSync(path, 'utf8'));

export const books: LibraryBooks = {
  attributes: yamlOf(join(LIBRARY, 'attributes.yml')) as LibraryBooks['attributes'],
  sunSpec: yamlOf(join(LIBRARY, 'sunspec.yml')) as LibraryBooks['sunSpec'],
  runtime: Object.fromEntries(
    readdirSync(join(LIBRARY, 'runtime')).map((name) => [
      name,
      readFileSync(join(LIBRARY, 'runtime', name), 'utf8'),
    ]),
  ),
};

/** Paths of all templates without ending: `eastron/sdm630`. */
export const templateIds = filesBelow(join(LIBRARY, 'devices'));

/** Ids of templates that have images. */
export const imageIds = filesBelow(IMAGES);

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yml'))
    .map((path) => path.slice(0, -'.yml'.length))
    .sort();
}

export const imagesOf = (id: string): DeviceImage[] => yamlOf(join(IMAGES, `${id}.yml`)) as DeviceImage[];

export const templateText = (id: string): string =>
  readFileSync(join(LIBRARY, 'devices', `${id}.yml`), 'utf8');

/** @throws Error with file, lines and sentences of every mistake */
export function compileFromLibrary(id: string, parameters: DeviceImage['parameters'] = {}): CompiledTemplate {
  const text = templateText(id);
  const parsed = parseTemplate(text);
  const fail = (faults: readonly { line: number; message: string }[]): never => {
    throw new Error(faults.map(({ line, message }) => `${id}.yml:${line}: ${message}`).join('\n'));
  };
  if (!parsed.template) return fail(parsed.faults);
  try {
    return compileTemplate({ template: parsed.template, id, parameters }, books);
  } catch (error) {
    if (error instanceof TemplateError) return fail(faultsOf(error.problems, parsed));
    throw error;
  }
}
