/** A template file, read and compiled as the gateway would. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import {
  type CompiledTemplate,
  compileTemplate,
  faultsOf,
  judgeTemplate,
  type LibraryBooks,
  parseTemplate,
  type Template,
  type TemplateFault,
  TemplateError,
} from '#library';
import { LibraryFiles } from '../../src/capabilities/library/library-files.ts';
import { UsageError } from '../support/arguments.ts';

/** The file has mistakes; the message names each with its line. */
export class FaultyTemplate extends Error {
  constructor(file: string, faults: readonly TemplateFault[]) {
    super(faults.map(({ line, message }) => `${file}:${line}: ${message}`).join('\n'));
    this.name = 'FaultyTemplate';
  }
}

export interface LoadedTemplate {
  template: Template;
  compiled: CompiledTemplate;
  books: LibraryBooks;
  /** Settings of the connection with their defaults, and those of `given` that are no parameter of the template. */
  settings: Record<string, unknown>;
}

/** @param given parameters and settings by name. @throws FaultyTemplate, UsageError */
export function loadTemplate(file: string, given: Readonly<Record<string, unknown>>): LoadedTemplate {
  const { books } = new LibraryFiles();
  const parsed = parseTemplate(textOf(file));
  const { template } = parsed;
  if (!template) throw new FaultyTemplate(file, parsed.faults);
  const isParameter = (name: string): boolean =>
    Object.hasOwn(template.parameters ?? {}, name) || (name === 'role' && template.meter !== undefined);
  const parameters = Object.fromEntries(
    Object.entries(given).filter(([name]) => isParameter(name)),
  ) as Record<string, string>;
  try {
    const id = basename(file).replace(/\.ya?ml$/, '');
    judgeTemplate({ template, id }, books);
    const compiled = compileTemplate({ template, id, parameters }, books);
    return { template, compiled, books, settings: settingsOf(compiled, given, isParameter) };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const wrong = error.problems.find(
      ({ path: [section, name] }) => section === 'parameters' && given[String(name)],
    );
    if (wrong) throw new UsageError(`${wrong.path[1]} ${wrong.message}`);
    throw new FaultyTemplate(file, faultsOf(error.problems, parsed));
  }
}

/** @throws UsageError when there is no such file */
export function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error)
      throw new UsageError(`${file} cannot be read: ${String(error.code)}`);
    throw error;
  }
}

function settingsOf(
  { manifest }: CompiledTemplate,
  given: Readonly<Record<string, unknown>>,
  isParameter: (name: string) => boolean,
): Record<string, unknown> {
  const { configuration } = manifest as {
    configuration?: { connection?: { parameters?: Record<string, { type?: string; default?: unknown }> } };
  };
  const declared = configuration?.connection?.parameters ?? {};
  const defaults = Object.entries(declared).flatMap(([name, parameter]) =>
    parameter.default === undefined ? [] : [[name, parameter.default] as const],
  );
  const own = Object.entries(given).filter(([name]) => !isParameter(name));
  for (const [name] of own)
    if (!Object.hasOwn(declared, name))
      throw new UsageError(
        `${name} is no parameter of the template and no setting of its connection; these are: ` +
          Object.keys(declared).join(', '),
      );
  const isNumber = (name: string): boolean => ['integer', 'float'].includes(declared[name]?.type ?? '');
  return Object.fromEntries([
    ...defaults,
    ...own.map(([name, value]) => [name, isNumber(name) ? Number(value) : value] as const),
  ]);
}
