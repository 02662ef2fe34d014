/** JSON Schemas that a manifest names: inline text, or a file of the archive (docs/interface/blueprints.md#types). */
import { unstorableNumberOf } from '../../../lib/json.ts';
import { LIMITS } from '../../../lib/limits.ts';
import { isObject } from '../../../lib/members.ts';
import type { ArchiveFiles } from './archive.ts';

type ResolvedSchema = { schema: unknown; problem?: undefined } | { schema?: undefined; problem: string };

/** Parses the schema behind a `json_schema` value and checks that it is one. */
export function resolveSchema(files: ArchiveFiles, reference: string): ResolvedSchema {
  const inline = reference.trimStart().startsWith('{');
  let text = reference;
  if (!inline) {
    const path = resolvePath(reference);
    if (path === undefined) return { problem: 'path leaves the blueprint' };
    const content = files.get(path);
    if (content === undefined) return { problem: `missed file ${reference}` };
    if (content === null) return { problem: `invalid JSON schema: file is too large` };
    text = content.toString('utf8');
  }
  let schema: unknown;
  try {
    schema = JSON.parse(text);
    if (unstorableNumberOf(text)) return { problem: 'invalid JSON schema: a number is too large' };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { problem: 'invalid JSON schema: not valid JSON' };
  }
  const fault = schemaFault(schema, '', 0) ?? (isNested(schema, LEVELS) ? 'nested too deeply' : undefined);
  return fault === undefined ? { schema } : { problem: `invalid JSON schema: ${fault}` };
}

/** Unknown keywords count, too, because readers of the compiled manifest parse them. A schema within another takes two levels. */
const LEVELS = 2 * LIMITS.blueprints.manifestDepth + 1;

/** True when the value has more levels than these. */
function isNested(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isNested(item, levels - 1));
}

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

type KeywordCheck = (value: unknown, path: string, depth: number) => string | undefined;

const aSchema: KeywordCheck = (value, path, depth) => schemaFault(value, path, depth + 1);

const schemas: KeywordCheck = (value, path, depth) =>
  Array.isArray(value) && value.length > 0
    ? firstFault(value, path, depth)
    : `${path} must be a list of schemas`;

const schemaMap: KeywordCheck = (value, path, depth) =>
  isObject(value) ? firstFault(value, path, depth) : `${path} must be an object`;

const schemaOrSchemas: KeywordCheck = (value, path, depth) =>
  (Array.isArray(value) ? schemas : aSchema)(value, path, depth);

const count: KeywordCheck = (value, path) =>
  Number.isInteger(value) && (value as number) >= 0 ? undefined : `${path} must be a whole number, 0 or more`;

const aNumber: KeywordCheck = (value, path) =>
  typeof value === 'number' ? undefined : `${path} must be a number`;

const aText: KeywordCheck = (value, path) =>
  typeof value === 'string' ? undefined : `${path} must be a string`;

const KEYWORDS: Record<string, KeywordCheck> = {
  type: (value, path) =>
    (Array.isArray(value) ? value : [value]).every((item) => TYPES.includes(item as string))
      ? undefined
      : `${path} must be of: ${TYPES.join(', ')}`,
  enum: (value, path) => (Array.isArray(value) ? undefined : `${path} must be a list`),
  required: (value, path) =>
    Array.isArray(value) && value.every((item) => typeof item === 'string')
      ? undefined
      : `${path} must be a list of strings`,
  properties: schemaMap,
  definitions: schemaMap,
  patternProperties: (value, path, depth) => {
    for (const pattern of isObject(value) ? Object.keys(value) : []) {
      const fault = patternFault(pattern, `${path}/${pattern}`);
      if (fault !== undefined) return fault;
    }
    return schemaMap(value, path, depth);
  },
  additionalProperties: aSchema,
  propertyNames: aSchema,
  items: schemaOrSchemas,
  additionalItems: aSchema,
  contains: aSchema,
  allOf: schemas,
  anyOf: schemas,
  oneOf: schemas,
  not: aSchema,
  minimum: aNumber,
  maximum: aNumber,
  exclusiveMinimum: aNumber,
  exclusiveMaximum: aNumber,
  multipleOf: (value, path) =>
    typeof value === 'number' && value > 0 ? undefined : `${path} must be a number above 0`,
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minProperties: count,
  maxProperties: count,
  pattern: patternFault,
  format: aText,
  $ref: (value, path) =>
    typeof value === 'string' && value.startsWith('#')
      ? undefined
      : `${path} must refer into the same schema`,
};

/** Keywords that hold one schema each; a property named `then` would make an object look like a promise. */
const SCHEMA_KEYWORDS = new Set(['if', 'then', 'else']);

/** The first keyword that is not as draft-07 wants it. */
function schemaFault(schema: unknown, path: string, depth: number): string | undefined {
  if (typeof schema === 'boolean') return undefined;
  if (!isObject(schema)) return `${path === '' ? 'the schema' : path} must be an object or a boolean`;
  if (depth > LIMITS.blueprints.manifestDepth) return `${path} is nested too deeply`;
  for (const [keyword, value] of Object.entries(schema)) {
    const own = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
    const check = SCHEMA_KEYWORDS.has(keyword) ? aSchema : own;
    const fault = check?.(value, `${path}/${keyword}`, depth);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The first fault of the schemas that a list or an object holds. */
function firstFault(holder: object, path: string, depth: number): string | undefined {
  for (const [name, schema] of Object.entries(holder)) {
    const fault = schemaFault(schema, `${path}/${name}`, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function patternFault(value: unknown, path: string): string | undefined {
  if (typeof value !== 'string' || !isPattern(value)) return `${path} must be a regular expression`;
  return isSafePattern(value) ? undefined : `${path} may take exponential time`;
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

// Regular expressions of JSON Schemas run on what devices and callers send, in the event loop. Those that a
// backtracking matcher may need exponential time for are refused: an unbounded repetition of a group that
// repeats without bound itself, or whose alternatives may begin alike (Davis et al., "The Impact of Regular
// Expression Denial of Service in Practice", 2018).

interface Group {
  /** Something within repeats without bound. */
  repeats: boolean;
  /** How each alternative begins; `any` when that is not one plain character. */
  beginnings: string[];
}

const UNBOUNDED = /^(?:[*+]|\{\d+,\})/;

export function isSafePattern(pattern: string): boolean {
  const outer: Group[] = [];
  let group: Group = newGroup(pattern, 0);
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    let closed: Group | undefined;
    if (char === '\\') at++;
    else if (char === '[') at = endOfClass(pattern, at);
    else if (char === '(') {
      outer.push(group);
      at = startOfGroup(pattern, at) - 1;
      group = newGroup(pattern, at + 1);
      continue;
    } else if (char === ')') {
      closed = group;
      group = outer.pop() ?? newGroup(pattern, at + 1);
      group.repeats ||= closed.repeats;
    } else if (char === '|') group.beginnings.push(beginningAt(pattern, at + 1));
    if (!UNBOUNDED.test(pattern.slice(at + 1, at + 12))) continue;
    if (closed !== undefined && (closed.repeats || isAmbiguous(closed))) return false;
    group.repeats = true;
  }
  return true;
}

function newGroup(pattern: string, at: number): Group {
  return { repeats: false, beginnings: [beginningAt(pattern, at)] };
}

function beginningAt(pattern: string, at: number): string {
  const char = pattern[at] ?? '';
  return /^[\\[(.^$|)]?$/.test(char) ? 'any' : char;
}

function isAmbiguous({ beginnings }: Group): boolean {
  if (beginnings.length < 2) return false;
  return beginnings.includes('any') || new Set(beginnings).size < beginnings.length;
}

/** Index of the bracket that ends a character class. */
function endOfClass(pattern: string, from: number): number {
  for (let at = from + 1; at < pattern.length; at++) {
    if (pattern[at] === '\\') at++;
    else if (pattern[at] === ']') return at;
  }
  return pattern.length;
}

/** Index of the first character within a group, past `(?:`, `(?=`, `(?<name>` and the like. */
function startOfGroup(pattern: string, at: number): number {
  const prefix = /^\((?:\?(?::|=|!|<=|<!|<[A-Za-z_$][\w$]*>))?/.exec(pattern.slice(at, at + 140));
  return at + (prefix?.[0].length ?? 1);
}

// Paths that a manifest names, relative to the folder of `manifest.yml`.

/** The path from the root of the archive; `undefined` when it leaves it. */
export function resolvePath(path: string, from = ''): string | undefined {
  if (path.startsWith('/') || path.includes('\\') || path.includes('\u0000')) return undefined;
  const segments = from === '' ? [] : from.split('/');
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) return undefined;
  }
  return segments.join('/').normalize('NFC');
}

/** The folder of a file, `''` for the root. */
export function folderOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}
