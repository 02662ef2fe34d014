/**
 * Templates of announcements, which say how a value is got from a message and a message from a value: a part of what
 * Jinja offers. Expressions with names, paths, numbers, texts, dictionaries and lists, arithmetic, comparisons, `and`,
 * `or`, `not`, `in`, inline `if`, filters, tests and methods; `{% if %}` and `{% set %}`. There are no loops, so that the
 * work is bounded by the length of the template. Pure.
 */

/** A function that the template needs and this program lacks; the message continues the name of the template. */
export class TemplateFault extends Error {}

export type Expression =
  | { kind: 'literal'; value: null | boolean | number | string }
  | { kind: 'name'; name: string }
  /** An argument that is not given, before one that is. */
  | { kind: 'missing' }
  | { kind: 'list'; items: Expression[] }
  | { kind: 'dictionary'; entries: [Expression, Expression][] }
  | { kind: 'member'; of: Expression; key: Expression }
  | { kind: 'call'; name: string; of: Expression | undefined; given: Expression[] }
  | { kind: 'filter'; name: string; of: Expression; given: Expression[] }
  | { kind: 'test'; name: string; of: Expression; isNegated: boolean; given: Expression[] }
  | { kind: 'unary'; operator: string; of: Expression }
  | { kind: 'binary'; operator: string; left: Expression; right: Expression }
  | { kind: 'choice'; condition: Expression; chosen: Expression; otherwise: Expression | undefined };

export type Part =
  | { kind: 'text'; text: string }
  | { kind: 'output'; expression: Expression }
  | { kind: 'set'; name: string; value: Expression }
  | { kind: 'if'; branches: { condition: Expression | undefined; parts: Part[] }[] };

/** The longest that were seen have some hundred characters. */
const LENGTH_MAX = 4_096;
/** Nesting is read by recursion. */
const DEPTH_MAX = 32;

/** Without its end, a piece reaches to the end of the text. */
const PIECE =
  /\{\{-?((?:(?!-?\}\})[\s\S])*)(?:-?\}\})?|\{%-?((?:(?!-?%\})[\s\S])*)(?:-?%\})?|\{#(?:(?!#\})[\s\S])*(?:#\})?/g;
const TOKEN =
  /\s*(?:(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(==|!=|<=|>=|\/\/|\*\*|[-+*/%<>~|.,:()[\]{}=]))/y;

type Token = { kind: 'number' | 'name' | 'text' | 'sign'; text: string };

const FILTERS: ReadonlySet<string> = new Set(
  'float int round default d multiply add abs upper lower title capitalize trim string replace length count bool is_defined from_json to_json tojson iif min max sum first last join format bitwise_and bitwise_or'.split(
    ' ',
  ),
);
const TESTS: ReadonlySet<string> = new Set(
  'defined undefined none number string mapping sequence iterable boolean true false odd even in eq equalto ne'.split(
    ' ',
  ),
);
const FUNCTIONS: ReadonlySet<string> = new Set('float int bool iif min max round'.split(' '));
const METHODS: ReadonlySet<string> = new Set(
  'get keys values split join lower upper title capitalize strip replace startswith endswith format'.split(
    ' ',
  ),
);
/** Names of arguments, in the order of their places. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  float: ['default'],
  int: ['default', 'base'],
  round: ['precision', 'method', 'default'],
  default: ['default_value', 'boolean'],
  d: ['default_value', 'boolean'],
  iif: ['if_true', 'if_false'],
  replace: ['old', 'new'],
  multiply: ['amount', 'default'],
  add: ['amount', 'default'],
};

/** @param names that the template may use @throws TemplateFault */
export function parseTemplate(text: string, names: readonly string[]): Part[] {
  if (text.length > LENGTH_MAX) throw new TemplateFault(`has more than ${LENGTH_MAX} characters`);
  return new TemplateParser(text, new Set(names)).parts();
}

type Piece = { text: string } | { output: string } | { statement: string };

class TemplateParser {
  readonly #pieces: Piece[];
  readonly #names: Set<string>;
  #at = 0;

  constructor(text: string, names: Set<string>) {
    this.#pieces = piecesOf(text);
    this.#names = names;
  }

  parts(): Part[] {
    const parts = this.#block(0);
    if (this.#at < this.#pieces.length) throw new TemplateFault('has an {% if %} that does not fit its end');
    return parts;
  }

  /** Up to a statement that ends or divides a block. */
  #block(depth: number): Part[] {
    if (depth > DEPTH_MAX) throw new TemplateFault('is nested too deep');
    const parts: Part[] = [];
    for (; this.#at < this.#pieces.length; this.#at++) {
      const piece = this.#pieces[this.#at] as Piece;
      if ('text' in piece) parts.push({ kind: 'text', text: piece.text });
      else if ('output' in piece) parts.push({ kind: 'output', expression: this.#whole(piece.output) });
      else {
        const [word = ''] = piece.statement.trim().split(/\s/, 1);
        const rest = piece.statement.trim().slice(word.length);
        if (word === 'elif' || word === 'else' || word === 'endif') return parts;
        if (word === 'set') parts.push(this.#set(rest));
        else if (word === 'if') parts.push(this.#if(rest, depth));
        else throw new TemplateFault(`uses {% ${word} %}, which is not supported`);
      }
    }
    return parts;
  }

  #set(text: string): Part {
    const [, name, value] = /^\s*([A-Za-z_]\w*)\s*=([\s\S]*)$/.exec(text) ?? [];
    if (name === undefined || value === undefined)
      throw new TemplateFault('has a {% set %} that is not supported');
    const part: Part = { kind: 'set', name, value: this.#whole(value) };
    this.#names.add(name);
    return part;
  }

  #if(text: string, depth: number): Part {
    const branches = [];
    let condition: Expression | undefined = this.#whole(text);
    for (;;) {
      this.#at++;
      branches.push({ condition, parts: this.#block(depth + 1) });
      const end = this.#pieces[this.#at];
      const statement = end && 'statement' in end ? end.statement.trim() : undefined;
      if (statement === undefined) throw new TemplateFault('has an {% if %} without its end');
      if (statement.startsWith('endif')) return { kind: 'if', branches };
      condition = statement.startsWith('elif') ? this.#whole(statement.slice('elif'.length)) : undefined;
    }
  }

  #whole(text: string): Expression {
    return new ExpressionParser(tokensOf(text), this.#names).whole();
  }
}

function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  const put = (plain: string): void => {
    if (/\{\{|\{%/.test(plain)) throw new TemplateFault('has a {{ or {% without its end');
    if (plain !== '') pieces.push({ text: plain });
  };
  for (const match of text.matchAll(PIECE)) {
    if (!/[}%#]\}$/.test(match[0])) break;
    put(text.slice(from, match.index));
    from = match.index + match[0].length;
    const [, output, statement] = match;
    if (output !== undefined) pieces.push({ output });
    else if (statement !== undefined) pieces.push({ statement });
  }
  put(text.slice(from));
  return pieces;
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  const trimmed = text.trimEnd();
  while (TOKEN.lastIndex < trimmed.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(trimmed);
    if (!match) throw new TemplateFault(`has "${trimmed.slice(at, at + 10).trim()}", which is not supported`);
    const [, number, name, single, double, sign] = match;
    const quoted = single ?? double;
    if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name });
    else if (quoted !== undefined) tokens.push({ kind: 'text', text: unescaped(quoted) });
    else tokens.push({ kind: 'sign', text: sign ?? '' });
  }
  return tokens;
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r' };

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, (_whole, character: string) => ESCAPES[character] ?? character);
}

const WORDS: Readonly<Record<string, null | boolean>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
};

/** Weakest first. */
const LEVELS: readonly (readonly string[])[] = [
  ['or'],
  ['and'],
  ['==', '!=', '<', '<=', '>', '>=', 'in', 'not in'],
  ['~'],
  ['+', '-'],
  ['*', '/', '//', '%'],
];
const NOT_LEVEL = 2;

class ExpressionParser {
  readonly #tokens: Token[];
  readonly #names: ReadonlySet<string>;
  #at = 0;
  #depth = 0;

  constructor(tokens: Token[], names: ReadonlySet<string>) {
    this.#tokens = tokens;
    this.#names = names;
  }

  whole(): Expression {
    const expression = this.#choice();
    const rest = this.#tokens[this.#at];
    if (rest) throw new TemplateFault(`has "${rest.text}" where it is not supported`);
    return expression;
  }

  #choice(): Expression {
    if (++this.#depth > DEPTH_MAX) throw new TemplateFault('is nested too deep');
    let expression = this.#level(0);
    while (this.#takes('if')) {
      const condition = this.#level(0);
      const otherwise = this.#takes('else') ? this.#choice() : undefined;
      expression = { kind: 'choice', condition, chosen: expression, otherwise };
    }
    this.#depth--;
    return expression;
  }

  #level(level: number): Expression {
    const operators = LEVELS[level];
    if (!operators) return this.#unary();
    if (level === NOT_LEVEL && this.#takes('not')) {
      if (++this.#depth > DEPTH_MAX) throw new TemplateFault('is nested too deep');
      const negated: Expression = { kind: 'unary', operator: 'not', of: this.#level(level) };
      this.#depth--;
      return negated;
    }
    let left = this.#level(level + 1);
    for (;;) {
      const operator = this.#operator(operators);
      if (operator === undefined) return left;
      left = { kind: 'binary', operator, left, right: this.#level(level + 1) };
    }
  }

  #operator(operators: readonly string[]): string | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind === 'text' || token?.kind === 'number' || token === undefined) return undefined;
    const next = this.#tokens[this.#at + 1];
    const text = token.text === 'not' && next?.text === 'in' ? 'not in' : token.text;
    if (!operators.includes(text)) return undefined;
    this.#at += text === 'not in' ? 2 : 1;
    return text;
  }

  /** A sign, then what belongs to a value: members, filters and tests, which bind closer than any operator. */
  #unary(): Expression {
    if (++this.#depth > DEPTH_MAX) throw new TemplateFault('is nested too deep');
    const operator = this.#takes('-') ? '-' : this.#takes('+') ? '+' : undefined;
    let expression: Expression = operator
      ? { kind: 'unary', operator, of: this.#postfix(this.#primary()) }
      : this.#postfix(this.#primary());
    if (this.#takes('**'))
      expression = { kind: 'binary', operator: '**', left: expression, right: this.#unary() };
    for (;;) {
      if (this.#takes('|')) expression = this.#filter(expression);
      else if (this.#takes('is')) expression = this.#test(expression);
      else break;
    }
    this.#depth--;
    return expression;
  }

  #filter(of: Expression): Expression {
    const name = this.#name();
    if (!FILTERS.has(name)) throw new TemplateFault(`uses the filter "${name}", which is not supported`);
    return this.#postfix({ kind: 'filter', name, of, given: this.#peek('(') ? this.#arguments(name) : [] });
  }

  #test(of: Expression): Expression {
    const isNegated = this.#takes('not');
    const name = this.#name();
    if (!TESTS.has(name)) throw new TemplateFault(`uses the test "${name}", which is not supported`);
    const isBare = this.#tokens[this.#at]?.kind === 'text' || this.#tokens[this.#at]?.kind === 'number';
    const given = this.#peek('(') ? this.#arguments() : name === 'in' || isBare ? [this.#unary()] : [];
    return { kind: 'test', name, of, isNegated, given };
  }

  #postfix(of: Expression): Expression {
    let expression = of;
    for (;;) {
      if (this.#takes('.')) expression = this.#dotted(expression);
      else if (this.#takes('[')) expression = this.#item(expression);
      else return expression;
    }
  }

  /** `x[1]`, or a part such as `x[0:3]`. */
  #item(of: Expression): Expression {
    const first: Expression = this.#peek(':') ? { kind: 'literal', value: 0 } : this.#choice();
    if (this.#takes(']')) return { kind: 'member', of, key: first };
    this.#expect(':');
    const last = this.#peek(']') ? [] : [this.#choice()];
    this.#expect(']');
    return { kind: 'filter', name: 'slice', of, given: [first, ...last] };
  }

  #dotted(of: Expression): Expression {
    const token = this.#tokens[this.#at++];
    if (token?.kind === 'number')
      return { kind: 'member', of, key: { kind: 'literal', value: Number(token.text) } };
    if (token?.kind !== 'name') throw new TemplateFault('has a "." without a name behind it');
    if (!this.#peek('(')) return { kind: 'member', of, key: { kind: 'literal', value: token.text } };
    if (!METHODS.has(token.text))
      throw new TemplateFault(`uses the method "${token.text}", which is not supported`);
    return { kind: 'call', name: token.text, of, given: this.#arguments() };
  }

  #primary(): Expression {
    const token = this.#tokens[this.#at++];
    if (token?.kind === 'number') return { kind: 'literal', value: Number(token.text) };
    if (token?.kind === 'text') return { kind: 'literal', value: token.text };
    if (token?.kind === 'name') return this.#named(token.text);
    if (token?.text === '(') {
      const inner = this.#choice();
      if (this.#takes(',')) return { kind: 'list', items: [inner, ...this.#items(')')] };
      this.#expect(')');
      return inner;
    }
    if (token?.text === '[') return { kind: 'list', items: this.#items(']') };
    if (token?.text === '{') return this.#dictionary();
    throw new TemplateFault(token ? `has "${token.text}" where it is not supported` : 'ends too early');
  }

  #named(name: string): Expression {
    if (Object.hasOwn(WORDS, name)) return { kind: 'literal', value: WORDS[name] ?? null };
    if (this.#peek('(') && FUNCTIONS.has(name))
      return { kind: 'call', name, of: undefined, given: this.#arguments(name, 1) };
    if (!this.#names.has(name)) throw new TemplateFault(`uses "${name}", which is not supported`);
    return { kind: 'name', name };
  }

  #dictionary(): Expression {
    const entries: [Expression, Expression][] = [];
    while (!this.#takes('}')) {
      const key = this.#choice();
      this.#expect(':');
      entries.push([key, this.#choice()]);
      if (!this.#peek('}')) this.#expect(',');
    }
    return { kind: 'dictionary', entries };
  }

  /**
   * @param name of the filter or function; arguments of methods have no names
   * @param before functions have the value itself before the arguments of the filter
   */
  #arguments(name = '', before = 0): Expression[] {
    this.#expect('(');
    const given: Expression[] = [];
    while (!this.#takes(')')) {
      const place = this.#place(name);
      given[place === undefined ? given.length : place + before] = this.#choice();
      if (!this.#peek(')')) this.#expect(',');
    }
    return Array.from(given, (argument) => argument ?? { kind: 'missing' });
  }

  /** The place of an argument with a name, such as `default=0`. */
  #place(of: string): number | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'name' || this.#tokens[this.#at + 1]?.text !== '=') return undefined;
    const place = ARGUMENTS[of]?.indexOf(token.text) ?? -1;
    if (place < 0) throw new TemplateFault(`uses the argument "${token.text}", which is not supported`);
    this.#at += 2;
    return place;
  }

  #items(end: string): Expression[] {
    const items: Expression[] = [];
    while (!this.#takes(end)) {
      items.push(this.#choice());
      if (!this.#peek(end)) this.#expect(',');
    }
    return items;
  }

  #name(): string {
    const token = this.#tokens[this.#at++];
    if (token?.kind !== 'name') throw new TemplateFault('ends where a name was expected');
    return token.text;
  }

  #peek(text: string): boolean {
    const token = this.#tokens[this.#at];
    return token !== undefined && token.kind !== 'text' && token.text === text;
  }

  #takes(text: string): boolean {
    const isThere = this.#peek(text);
    if (isThere) this.#at++;
    return isThere;
  }

  #expect(text: string): void {
    if (!this.#takes(text)) throw new TemplateFault(`lacks a "${text}"`);
  }
}
