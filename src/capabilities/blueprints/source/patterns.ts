/**
 * Regular expressions of JSON Schemas run on what devices and callers send, in the event loop. Those that a
 * backtracking matcher may need exponential time for are refused: an unbounded repetition of a group that
 * repeats without bound itself, or whose alternatives may begin alike (Davis et al., "The Impact of Regular
 * Expression Denial of Service in Practice", 2018).
 */

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
