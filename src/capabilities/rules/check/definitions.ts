/** Definitions of a script: names, members of tables, and names that have one value only. */
import type { Token } from './tokens.ts';

/** `a, b = …`: where each name stands, and the first token after the sign. */
interface Assignment {
  names: readonly string[];
  from: number;
}

export interface Definitions {
  /** How often each name gets a value. */
  names: ReadonlyMap<string, number>;
  /** Members of any table. */
  members: ReadonlySet<string>;
  /** In the order of the script. */
  assignments: readonly Assignment[];
  /** Names may come from elsewhere. */
  isOpen: boolean;
}

const OPENING = new Set(['_G', '_ENV', 'load', 'require']);
const isMember = (before: Token | undefined): boolean => before?.value === '.' || before?.value === ':';

export function definitionsOf(tokens: readonly Token[]): Definitions {
  const names = new Map<string, number>();
  const members = new Set<string>();
  const assignments: Assignment[] = [];
  const brackets: string[] = [];
  let isOpen = false;
  const define = (name = ''): void => void names.set(name, (names.get(name) ?? 0) + 1);
  const is = (at: number, value: string): boolean =>
    tokens[at]?.value === value && tokens[at].kind !== 'text';

  /** Names with commas between them, and the place behind. */
  function list(at: number): { listed: string[]; after: number } {
    const listed: string[] = [];
    for (let next = at; tokens[next]?.kind === 'name'; next++) {
      listed.push(tokens[next]?.value ?? '');
      next++;
      // An attribute such as <const>.
      if (is(next, '<')) next += 3;
      if (!is(next, ',')) return { listed, after: next };
    }
    return { listed, after: at };
  }

  function defineFunction(at: number): void {
    let next = at + 1;
    if (tokens[next]?.kind === 'name' && isMember(tokens[next + 1])) {
      while (isMember(tokens[next + 1])) next += 2;
      members.add(tokens[next]?.value ?? '');
      next++;
    } else if (tokens[next]?.kind === 'name') define(tokens[next++]?.value);
    if (is(next, '(')) list(next + 1).listed.forEach(define);
  }

  for (const [at, { kind, value }] of tokens.entries()) {
    if (kind === 'sign' && (value === '{' || value === '(' || value === '[')) brackets.push(value);
    else if (kind === 'sign' && (value === '}' || value === ')' || value === ']')) brackets.pop();
    else if (kind === 'keyword' && value === 'function') defineFunction(at);
    else if (kind === 'keyword' && (value === 'local' || value === 'for')) {
      const { listed, after } = list(at + 1);
      listed.forEach(define);
      if (value === 'local' && is(after, '=')) assignments.push({ names: listed, from: after + 1 });
    } else if (kind === 'name') {
      if (OPENING.has(value ?? '')) isOpen = true;
      if (!is(at + 1, '=')) continue;
      if (isMember(tokens[at - 1]) || brackets.at(-1) === '{') members.add(value ?? '');
      else if (!isOfLocal(tokens, at)) {
        const assigned = [value ?? ''];
        for (let before = at; is(before - 1, ',') && tokens[before - 2]?.kind === 'name'; before -= 2)
          if (!isMember(tokens[before - 3])) assigned.unshift(tokens[before - 2]?.value ?? '');
        assigned.forEach(define);
        assignments.push({ names: assigned, from: at + 2 });
      }
    }
  }
  return { names, members, assignments, isOpen };
}

/** Whether the name before the sign of an assignment was declared with it, and is counted already. */
function isOfLocal(tokens: readonly Token[], at: number): boolean {
  let before = at;
  while (tokens[before - 1]?.value === ',' && tokens[before - 2]?.kind === 'name') before -= 2;
  return tokens[before - 1]?.value === 'local' || tokens[before - 1]?.value === 'for';
}
