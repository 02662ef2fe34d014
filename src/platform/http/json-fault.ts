/**
 * Where a text stops being JSON (RFC 8259), and how deep it nests. Node's parser tells the position only
 * sometimes, and repeats parts of the text, which may be secret.
 */

type Expected = 'value' | 'first item' | 'key' | 'first key' | 'colon' | 'comma' | 'nothing';

const BLANKS = /[ \t\n\r]*/y;
const PLAIN_SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** Offset of the first token that cannot be; the length when the text ends too early; undefined: it is JSON. */
export function jsonFaultOffset(text: string): number | undefined {
  const open: string[] = [];
  let expected: Expected = 'value';
  let at = endOf(BLANKS, text, 0) ?? 0;
  while (at < text.length) {
    const character = text[at] ?? '';
    let following: number | undefined = at + 1;
    if (mayClose(expected, open.at(-1), character)) {
      open.pop();
      expected = afterValue(open);
    } else if (expected === 'comma' || expected === 'colon') {
      if (character !== (expected === 'comma' ? ',' : ':')) return at;
      expected = expected === 'comma' && open.at(-1) === '{' ? 'key' : 'value';
    } else if (expected === 'key' || expected === 'first key') {
      following = endOfString(text, at);
      expected = 'colon';
    } else if (expected === 'nothing') {
      return at;
    } else if (character === '{' || character === '[') {
      open.push(character);
      expected = character === '{' ? 'first key' : 'first item';
    } else {
      following = character === '"' ? endOfString(text, at) : endOf(PLAIN_SCALAR, text, at);
      expected = afterValue(open);
    }
    if (following === undefined) return at;
    at = endOf(BLANKS, text, following) ?? following;
  }
  return expected === 'nothing' ? undefined : text.length;
}

function afterValue(open: readonly string[]): Expected {
  return open.length > 0 ? 'comma' : 'nothing';
}

function mayClose(expected: Expected, inside: string | undefined, character: string): boolean {
  if (character === '}') return inside === '{' && (expected === 'comma' || expected === 'first key');
  return character === ']' && inside === '[' && (expected === 'comma' || expected === 'first item');
}

/** The offset behind what matches at `at`. */
function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** A loop instead of one pattern, whose memory would grow with the string. */
function endOfString(text: string, start: number): number | undefined {
  if (text[start] !== '"') return undefined;
  let at = start + 1;
  for (;;) {
    const character = text[at];
    if (character === '"') return at + 1;
    if (character === undefined || character < ' ') return undefined;
    if (character !== '\\') at++;
    else {
      const behind = endOf(ESCAPE, text, at);
      if (behind === undefined) return undefined;
      at = behind;
    }
  }
}

/** Line and column, both from 1. */
export function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') };
}

/** Deepest nesting of arrays and objects of a text that is JSON. */
export function jsonDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = (endOfString(text, at) ?? text.length) - 1;
    else if (character === '{' || character === '[') deepest = Math.max(deepest, ++depth);
    else if (character === '}' || character === ']') depth--;
  }
  return deepest;
}
