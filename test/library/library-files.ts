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

/** A moment of a real or described device: what it answers, and the values that an independent reading gives. */
export interface DeviceImage {
  name: string;
  parameters?: Record<string, string | number | boolean>;
  /** Settings of the connection beyond the address. */
  settings?: Record<string, unknown>;
  /** Unit → function → address → words in hex (`'4366 8000'`), or a typed value (`[f32, 230.5]`); all of unit 1 without `units`. */
  registers?: RegisterImage;
  units?: Record<number, RegisterImage>;
  /** Path → JSON. */
  answers?: Record<string, unknown>;
  /** Topic → payload. */
  messages?: Record<string, unknown>;
  /** Attribute → value; null for one that must have none. Properties and telemetry alike. */
  expect: Record<string, unknown>;
  commands?: {
    run: string;
    with?: Record<string, unknown>;
    /** Registers that must hold these words afterwards: `{ 261: 100 }`. */
    writes?: Record<number, number>;
    /** Requests that must have arrived: `POST /rpc/Switch.Set?id=0&on=true`. */
    requests?: string[];
  }[];
}

export type RegisterImage = Partial<
  Record<
    'input' | 'holding' | 'coil' | 'discrete',
    Record<number, string | number | [type: string, value: number | string]>
  >
>;

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
