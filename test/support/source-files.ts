/**
 * Reads the project's own files for the checks of the house, and takes TypeScript apart just far enough:
 * what is code, what is comment, what is text, what is imported, where a function begins and ends. The
 * compiler offers no JavaScript interface in its present version, and none of this needs types.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** A piece of text and where it begins. */
export interface Piece {
  index: number;
  value: string;
}

export interface Import {
  index: number;
  /** As written: `../lib/errors.ts`, `node:fs`, `hono`. */
  specifier: string;
  typeOnly: boolean;
}

export interface SourceFile {
  /** From the project root, with `/`. */
  path: string;
  text: string;
  /** The text with comments and the insides of strings blanked; every index is the same as in `text`. */
  code: string;
  comments: Piece[];
  strings: Piece[];
  /** Regular expressions as written: `/a+/g`. */
  expressions: Piece[];
  imports: Import[];
}

const NOT_OURS = new Set(['node_modules', 'dist', 'data', '.cache', '.git']);

/** Paths of all files of the project below `folder` (default: all), sorted. */
export function projectFiles(root: string, folder = ''): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (NOT_OURS.has(entry.name) || entry.isSymbolicLink()) continue;
    if (entry.isDirectory()) found.push(...projectFiles(root, path));
    else if (!entry.name.endsWith('.log')) found.push(path);
  }
  return found.sort();
}

/**
 * The project's file that an import names, by its path or by the name of a house (`imports` of package.json:
 * `#telemetry-store` is `src/telemetry-store/index.ts`); undefined for packages and modules of Node.
 */
export function ownTarget(importer: string, specifier: string): string | undefined {
  if (specifier.startsWith('#')) return `src/${specifier.slice(1)}/index.ts`;
  return specifier.startsWith('.') ? posix.join(posix.dirname(importer), specifier) : undefined;
}

export function readSource(root: string, path: string): SourceFile {
  return parseSource(path, readFileSync(join(root, path), 'utf8'));
}

export function parseSource(path: string, text: string): SourceFile {
  const { code, comments, strings, expressions } = scan(text);
  return { path, text, code, comments, strings, expressions, imports: importsOf(code, strings) };
}

/** Line number, from 1. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < index; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

/** Words after which a slash begins a regular expression, not a division. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|await|yield|void))$/;

function scan(text: string): Pick<SourceFile, 'code' | 'comments' | 'strings' | 'expressions'> {
  const comments: Piece[] = [];
  const strings: Piece[] = [];
  const expressions: Piece[] = [];
  const code = Array.from<string>({ length: text.length });
  /** Depth of braces at which a `}` returns into each open template. */
  const templates: number[] = [];
  let depth = 0;
  let i = 0;

  const blank = (from: number, to: number): void => {
    for (let at = from; at < to; at++) code[at] = text[at] === '\n' ? '\n' : ' ';
  };
  const endOf = (found: number): number => (found === -1 ? text.length : found);

  function comment(end: number): void {
    comments.push({ index: i, value: text.slice(i, end) });
    blank(i, end);
    i = end;
  }

  function quoted(quote: string): void {
    let end = i + 1;
    while (end < text.length && text[end] !== quote) end += text[end] === '\\' ? 2 : 1;
    strings.push({ index: i, value: text.slice(i + 1, end) });
    code[i] = quote;
    blank(i + 1, end);
    if (end < text.length) code[end] = quote;
    i = end + 1;
  }

  /** From `from` to the next `${` or the closing backtick. */
  function template(from: number): void {
    let end = from;
    while (end < text.length && text[end] !== '`' && !(text[end] === '$' && text[end + 1] === '{'))
      end += text[end] === '\\' ? 2 : 1;
    strings.push({ index: from - 1, value: text.slice(from, end) });
    code[from - 1] = text[from - 1] === '`' ? '`' : '}';
    blank(from, end);
    if (text[end] === '$') {
      code[end] = ' ';
      code[end + 1] = '{';
      templates.push(depth++);
      i = end + 2;
      return;
    }
    if (end < text.length) code[end] = '`';
    i = end + 1;
  }

  function regularExpression(): void {
    let end = i + 1;
    let inClass = false;
    while (end < text.length && (inClass || text[end] !== '/')) {
      if (text[end] === '[') inClass = true;
      if (text[end] === ']') inClass = false;
      end += text[end] === '\\' ? 2 : 1;
    }
    code[i] = '/';
    blank(i + 1, end);
    code[end] = '/';
    const flags = /^[a-z]*/.exec(text.slice(end + 1, end + 9))?.[0] ?? '';
    expressions.push({ index: i, value: text.slice(i, end + 1) + flags });
    i = end + 1;
  }

  while (i < text.length) {
    const char = text[i] ?? '';
    const two = char + (text[i + 1] ?? '');
    if (two === '//') comment(endOf(text.indexOf('\n', i)));
    else if (two === '/*') comment(Math.min(text.length, endOf(text.indexOf('*/', i + 2)) + 2));
    else if (char === "'" || char === '"') quoted(char);
    else if (char === '`') template(i + 1);
    else if (char === '}' && templates.at(-1) === depth - 1) {
      templates.pop();
      depth--;
      template(i + 1);
    } else if (
      char === '/' &&
      // The end of an element, or of its tag.
      text[i - 1] !== '<' &&
      text[i + 1] !== '>' &&
      BEFORE_REGEX.test(
        code
          .slice(Math.max(0, i - 40), i)
          .join('')
          .trimEnd(),
      )
    )
      regularExpression();
    else {
      if (char === '{') depth++;
      if (char === '}') depth--;
      code[i++] = char;
    }
  }
  return { code: code.join(''), comments, strings, expressions };
}

const FROM = /\b(import|export)\b([^'"`;]*?)\bfrom\s*(?=['"])/g;
const BARE = /\bimport\s*\(?\s*(?=['"])/g;

function importsOf(code: string, strings: readonly Piece[]): Import[] {
  const at = new Map(strings.map((piece) => [piece.index, piece.value]));
  const found: Import[] = [];
  for (const match of code.matchAll(FROM)) {
    const specifier = at.get(match.index + match[0].length);
    if (specifier !== undefined)
      found.push({ index: match.index, specifier, typeOnly: /^\s*type\b/.test(match[2] ?? '') });
  }
  for (const match of code.matchAll(BARE)) {
    const specifier = at.get(match.index + match[0].length);
    if (specifier !== undefined) found.push({ index: match.index, specifier, typeOnly: false });
  }
  return found.sort((a, b) => a.index - b.index);
}

export interface FunctionSpan {
  firstLine: number;
  lastLine: number;
  /** Lines that belong to no function inside this one. */
  ownLines: number;
}

const NO_FUNCTION = new Set(['if', 'for', 'while', 'switch', 'catch', 'with', 'await', 'return']);

/** Every function with a body in braces. */
export function functionsOf(file: Pick<SourceFile, 'code'>): FunctionSpan[] {
  const { code } = file;
  const closing = pairs(code);
  const bodies = new Map<number, number>();
  for (const [open, close] of closing) {
    if (code[open] !== '(') continue;
    const word = /([\w$]*)\s*(?:<[^()]*>)?$/.exec(code.slice(Math.max(0, open - 120), open))?.[1] ?? '';
    if (NO_FUNCTION.has(word)) continue;
    const body = bodyAfter(code, close, closing);
    if (body !== undefined) bodies.set(body, Math.min(open, bodies.get(body) ?? open));
  }
  for (const match of code.matchAll(/\b[\w$]+\s*=>\s*(?=\{)/g))
    bodies.set(match.index + match[0].length, match.index);
  const spans = [...bodies].map(([body, start]) => ({
    firstLine: lineAt(code, start),
    lastLine: lineAt(code, closing.get(body) ?? body),
  }));
  return spans.map((span) => {
    const inner = new Set<number>();
    for (const other of spans)
      if (other !== span && other.firstLine >= span.firstLine && other.lastLine <= span.lastLine)
        if (other.lastLine - other.firstLine < span.lastLine - span.firstLine)
          for (let line = other.firstLine + 1; line <= other.lastLine; line++) inner.add(line);
    return { ...span, ownLines: span.lastLine - span.firstLine + 1 - inner.size };
  });
}

/** Index of each opening bracket → index of its closing one. */
function pairs(code: string): Map<number, number> {
  const open: number[] = [];
  const found = new Map<number, number>();
  for (let i = 0; i < code.length; i++) {
    const char = code[i] ?? '';
    if ('({['.includes(char)) open.push(i);
    else if (')}]'.includes(char)) {
      const start = open.pop();
      if (start !== undefined) found.set(start, i);
    }
  }
  return found;
}

/** The brace that opens the body after a parameter list, past a return type; undefined when there is none. */
function bodyAfter(code: string, close: number, closing: Map<number, number>): number | undefined {
  const rest = /^\s*(\{|=>\s*\{)/.exec(code.slice(close + 1, close + 200));
  if (rest) return close + rest[0].length;
  if (!/^\s*:/.test(code.slice(close + 1, close + 200))) return undefined;
  let before = ':';
  for (let i = code.indexOf(':', close) + 1; i < code.length; i++) {
    const char = code[i] ?? '';
    if (/\s/.test(char)) continue;
    if (char === '{' && (before === '=>' || !/[:|&,<([?]$/.test(before))) return i;
    if (char === '{' || char === '(' || char === '[') i = closing.get(i) ?? code.length;
    else if (';,)]}'.includes(char)) return undefined;
    else if (char === '=' && code[i + 1] !== '>') return undefined;
    // After a jump the closing bracket counts: `): Route[] {` opens a body.
    before = char === '>' && before === '=' ? '=>' : (code[i] ?? '');
  }
  return undefined;
}
