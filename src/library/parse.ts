/** Reads template files: YAML, shape and places of mistakes. */
import * as v from 'valibot';
import { type Alias, type ErrorCode, isScalar, LineCounter, parseDocument, type Scalar, visit } from 'yaml';
import { yamlFault } from '../lib/yaml-fault.ts';
import type { TemplateProblem } from './compile/problem.ts';
import { type Template, templateSchema } from './compile/template.ts';

/** A mistake with its line, counted from 1. */
export interface TemplateFault {
  line: number;
  message: string;
}

/** A file as it was read: to find the line of a mistake that the compiler sees later. */
export interface ParsedTemplate {
  template: Template | undefined;
  faults: TemplateFault[];
  lineOf(path: readonly (string | number)[]): number;
}

/** Replacements for texts of the parser that would not help an author. */
const MESSAGES: Partial<Record<ErrorCode, string>> = {
  DUPLICATE_KEY: 'this key is there before: keep one of the two',
  MULTIPLE_DOCS: 'there is more than one document; --- begins another',
  RESOURCE_EXHAUSTION: 'lists or objects are nested too deeply',
};

/** The template of a YAML text, or every mistake in it. */
export function parseTemplate(text: string): ParsedTemplate {
  const counter = new LineCounter();
  const document = parseDocument(text.replace(/^\uFEFF/, ''), { lineCounter: counter, uniqueKeys: true });
  const lineOf = (path: readonly (string | number)[]): number => {
    for (let length = path.length; length > 0; length -= 1) {
      const node = document.getIn(path.slice(0, length), true) as
        | { range?: readonly number[] | null }
        | undefined;
      if (node?.range) return counter.linePos(node.range[0] ?? 0).line;
    }
    return 1;
  };
  const [broken] = document.errors;
  if (broken)
    return {
      template: undefined,
      faults: [
        { line: broken.linePos?.[0].line ?? 1, message: MESSAGES[broken.code] ?? yamlFault(broken.message) },
      ],
      lineOf,
    };
  const content = contentOf(document, counter);
  if (content.fault) return { template: undefined, faults: [content.fault], lineOf };
  const result = v.safeParse(templateSchema, content.value);
  if (result.success) return { template: result.output, faults: [], lineOf };
  const faults = result.issues.map((issue) => {
    const path = (issue.path ?? []).map(({ key }) => key as string | number);
    return { line: lineOf(path), message: `${path.join('.') || 'the file'}: ${sentenceOf(issue)}` };
  });
  return { template: undefined, faults, lineOf };
}

/** Aliases of aliases would fill the memory: YAML stops at a hundred (https://en.wikipedia.org/wiki/Billion_laughs_attack). */
function contentOf(
  document: ReturnType<typeof parseDocument>,
  counter: LineCounter,
): { value?: unknown; fault?: TemplateFault } {
  const key = keyOfEveryObject(document);
  if (key) {
    const { line } = counter.linePos(key.range?.[0] ?? 0);
    return { fault: { line, message: `${String(key.value)}: must have another name` } };
  }
  try {
    return { value: document.toJS() };
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    const alias = aliasOfNothing(document);
    if (!alias)
      return { fault: { line: 1, message: 'the file: has too many aliases, or one within what it names' } };
    const { line } = counter.linePos(alias.range?.[0] ?? 0);
    return { fault: { line, message: `*${alias.source}: there is no &${alias.source} before it` } };
  }
}

/** A key that every object of the language has: it would be lost silently. */
function keyOfEveryObject(document: ReturnType<typeof parseDocument>): Scalar | undefined {
  let found: Scalar | undefined;
  visit(document, {
    Pair: (_, { key }) => {
      if (!isScalar(key) || !['__proto__', 'constructor', 'prototype'].includes(String(key.value)))
        return undefined;
      found = key;
      return visit.BREAK;
    },
  });
  return found;
}

/** The first alias whose anchor does not stand before it. */
function aliasOfNothing(document: ReturnType<typeof parseDocument>): Alias | undefined {
  const anchors = new Set<string>();
  let found: Alias | undefined;
  visit(document, {
    Value: (_, { anchor }) => void (anchor !== undefined && anchors.add(anchor)),
    Alias: (_, alias) => {
      if (anchors.has(alias.source)) return undefined;
      found = alias;
      return visit.BREAK;
    },
  });
  return found;
}

/** Mistakes of the compiler with their lines. */
export const faultsOf = (problems: readonly TemplateProblem[], parsed: ParsedTemplate): TemplateFault[] =>
  problems.map(({ path, message }) => ({
    line: parsed.lineOf(path),
    message: `${path.join('.') || 'the file'}: ${message}`,
  }));

function sentenceOf(issue: v.BaseIssue<unknown>): string {
  if (issue.type === 'strict_object' && issue.expected === 'never') return issue.message;
  if (issue.received === 'undefined') return 'is missing';
  if (issue.kind !== 'schema' || issue.type === 'never')
    return issue.message.startsWith('Invalid ')
      ? (BOUNDS[issue.type]?.(String(issue.requirement)) ?? issue.message)
      : issue.message;
  return `must be ${worded(issue.expected ?? 'something else')}, not ${worded(issue.received)}`;
}

/** Requirements without a sentence of their own. */
const BOUNDS: Readonly<Record<string, (requirement: string) => string>> = {
  integer: () => 'must be a whole number',
  min_value: (least) => `must be ${least} or more`,
  max_value: (most) => `must be ${most} or less`,
  gt_value: (bound) => `must be more than ${bound}`,
  min_length: (least) => `must have ${least} or more entries`,
  ipv4: () => 'must be an address such as 239.12.255.254',
};

const KINDS: Readonly<Record<string, string>> = {
  Array: 'a list in [ ]',
  Object: 'an object in { }',
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
};

/** A type as a person says it: `("tcp" | "rtu")` is `tcp or rtu`. */
function worded(type: string): string {
  const words = type
    .replaceAll(/[()]/g, '')
    .split(' | ')
    .map((word) => KINDS[word] ?? word.replaceAll('"', ''));
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}
