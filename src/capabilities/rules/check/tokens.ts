/** Splits a Lua script into tokens, as far as a check by names needs them. */

export interface Token {
  kind: 'name' | 'keyword' | 'text' | 'number' | 'sign';
  /** Content of a text between its quotes; undefined when it has escapes. */
  value: string | undefined;
  /** The first line is 1. */
  line: number;
}

const KEYWORDS = new Set(
  `and break do else elseif end false for function goto if in local nil not or repeat return then true until
  while`.split(/\s+/),
);

const TOKEN =
  /(?<space>\s+|--\[(?<level>=*)\[[\s\S]*?(?:\]\k<level>\]|$)|--[^\n]*)|(?<name>[A-Za-z_]\w*)|(?<long>\[(?<equals>=*)\[[\s\S]*?(?:\]\k<equals>\]|$))|(?<text>"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?)|(?<number>\.?\d(?:[eEpP][+-]|[\w.])*)|(?<sign>\.\.\.|\.\.|==|~=|<=|>=|::|\/\/|<<|>>|[\s\S])/gy;

/** Comments and blanks are left out. */
export function tokensOf(code: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  for (const { 0: whole, groups = {} } of code.matchAll(TOKEN)) {
    const { name, text, long, number, equals = '' } = groups;
    if (name !== undefined) tokens.push({ kind: KEYWORDS.has(name) ? 'keyword' : 'name', value: name, line });
    else if (text !== undefined)
      tokens.push({ kind: 'text', value: text.includes('\\') ? undefined : text.slice(1, -1), line });
    else if (long !== undefined) {
      const edge = equals.length + 2;
      tokens.push({ kind: 'text', value: long.slice(edge, -edge), line });
    } else if (number !== undefined) tokens.push({ kind: 'number', value: number, line });
    else if (groups['sign'] !== undefined) tokens.push({ kind: 'sign', value: whole, line });
    for (let at = whole.indexOf('\n'); at >= 0; at = whole.indexOf('\n', at + 1)) line++;
  }
  return tokens;
}
