/**
 * Finds `require "name"` and modules that a text brings in `package.preload`, without running it: strings and comments are
 * skipped, names that are not literal are not seen. Source: docs/interface/lua-devices.md#several-files.
 */

interface LuaRequire {
  module: string;
  /** Within a `pcall` or `xpcall`: the script is prepared for its absence. */
  isOptional: boolean;
  /** In a branch, a loop, or behind `and` or `or`: it may never be reached. */
  isConditional: boolean;
}

interface Token {
  kind: 'name' | 'string' | 'symbol';
  text: string;
}

/** Every literal require of the text, in order; the text need not be valid Lua. */
export function findRequires(source: string): LuaRequire[] {
  const found: LuaRequire[] = [];
  // For every open parenthesis: is the code within it protected?
  const protectedDepths: boolean[] = [];
  const blocks = new Blocks();
  let beforePrevious: Token | undefined;
  let previous: Token | undefined;
  let isRequire = false;
  let isChosen = false;
  let recorded: Token | undefined;
  for (const token of tokens(source)) {
    if (token.kind === 'name') blocks.see(token.text);
    // `require("a" .. b)` asks for another module than "a".
    if (token.text === '..' && previous !== undefined && previous === recorded) found.pop();
    if (token.text === '(' && token.kind === 'symbol')
      protectedDepths.push((protectedDepths.at(-1) ?? false) || isProtector(previous, beforePrevious));
    else if (token.text === ')' && token.kind === 'symbol') protectedDepths.pop();
    else if (token.kind === 'string' && isRequire) {
      found.push({
        module: token.text,
        isOptional: protectedDepths.at(-1) ?? false,
        isConditional: isChosen || blocks.isConditional,
      });
      // Without parentheses the name ends where the string does.
      recorded = previous?.kind === 'symbol' ? token : undefined;
    }
    // `require "x"`, `require("x")` and `pcall(require, "x")`.
    const continues: boolean =
      isRequire &&
      token.kind === 'symbol' &&
      (token.text === '(' || token.text === ',') &&
      previous?.text === 'require';
    const begins = token.kind === 'name' && token.text === 'require' && !isField(previous);
    if (begins) isChosen = previous?.kind === 'name' && (previous.text === 'and' || previous.text === 'or');
    isRequire = continues || begins;
    beforePrevious = previous;
    previous = token;
  }
  return found;
}

/** The open blocks of code, and whether one of them may be skipped. */
class Blocks {
  readonly #open: { word: string; isConditional: boolean }[] = [];

  get isConditional(): boolean {
    return this.#open.some((block) => block.isConditional);
  }

  see(word: string): void {
    const top = this.#open.at(-1);
    switch (word) {
      case 'if':
      case 'for':
      case 'while':
      case 'function':
      case 'repeat':
        this.#open.push({ word, isConditional: false });
        return;
      case 'then':
        if (top) top.isConditional = true;
        return;
      case 'do':
        // The head of a loop is always evaluated, its body perhaps never.
        if (top && (top.word === 'for' || top.word === 'while') && !top.isConditional)
          top.isConditional = true;
        else this.#open.push({ word, isConditional: false });
        return;
      case 'end':
      case 'until':
        this.#open.pop();
        return;
    }
  }
}

/**
 * Names of modules that the text gives to `package.preload` itself: files that were joined before the upload, and scripts
 * compiled here.
 */
export function findPreloads(source: string): string[] {
  if (!source.includes('preload')) return [];
  const names: string[] = [];
  let matched = 0;
  /** The kind of token that a name is, behind the bracket or the dot that came. */
  let wanted: Token['kind'] | undefined;
  for (const { kind, text } of tokens(source)) {
    if (wanted !== undefined) {
      if (kind === wanted) names.push(text);
      [matched, wanted] = [0, undefined];
    } else if (matched === PRELOAD.length) {
      if (kind === 'symbol' && text === '[') wanted = 'string';
      else if (kind === 'symbol' && text === '.') wanted = 'name';
      else matched = 0;
    } else matched = text === PRELOAD[matched] && kind !== 'string' ? matched + 1 : 0;
  }
  return names;
}

const PRELOAD = ['package', '.', 'preload'];

function isProtector(token: Token | undefined, before: Token | undefined): boolean {
  return token?.kind === 'name' && (token.text === 'pcall' || token.text === 'xpcall') && !isField(before);
}

/** `a.require` and `a:require` are other functions. */
function isField(before: Token | undefined): boolean {
  return before?.kind === 'symbol' && (before.text === '.' || before.text === ':');
}

const SPACE = /\s+/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /0[xX][0-9a-fA-F.]+(?:[pP][+-]?\d+)?|\d[\d.]*(?:[eE][+-]?\d+)?/y;
const LONG_OPENING = /\[(=*)\[/y;
const COMMENT = /--/y;
/** `..` and `::` are no access to a field. */
const SYMBOL = /\.{2,3}|::|[^]/y;
const SHORT_STRING = /(["'])((?:\\[^]|(?!\1)[^\\\n])*)\1/y;

function* tokens(source: string): Generator<Token> {
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(source);
  };
  while (at < source.length) {
    const space = match(SPACE);
    if (space) {
      at += space[0].length;
      continue;
    }
    if (match(COMMENT)) {
      at += 2;
      const long = match(LONG_OPENING);
      at = long ? endOfLong(source, at, long) : endOfLine(source, at);
      continue;
    }
    const long = match(LONG_OPENING);
    if (long) {
      const end = endOfLong(source, at, long);
      yield { kind: 'string', text: source.slice(at + long[0].length, end - long[0].length) };
      at = end;
      continue;
    }
    const name = match(NAME);
    const string = name ? null : match(SHORT_STRING);
    const number = name || string ? null : match(NUMBER);
    if (name) yield { kind: 'name', text: name[0] };
    else if (string) yield { kind: 'string', text: unescaped(string[2] ?? '') };
    else if (!number) yield { kind: 'symbol', text: match(SYMBOL)?.[0] ?? '' };
    at += (name ?? string ?? number ?? match(SYMBOL))?.[0].length ?? 1;
  }
}

function endOfLine(source: string, from: number): number {
  const end = source.indexOf('\n', from);
  return end === -1 ? source.length : end;
}

function endOfLong(source: string, from: number, opening: RegExpExecArray): number {
  const closing = `]${opening[1] ?? ''}]`;
  const end = source.indexOf(closing, from + opening[0].length);
  return end === -1 ? source.length : end + closing.length;
}

/** Module names need no escapes beyond these. */
function unescaped(text: string): string {
  return text.replace(/\\(["'\\/])/g, '$1');
}
