/** What is wrong with a value, in the words of the interface and not in those of the validating library. */
import type { BaseIssue } from 'valibot';

/** Types as the library calls them, and in words; what follows a choice of one of several. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  Array: 'a list',
  Object: 'an object',
  integer: 'a whole number',
  null: 'null',
};
const FORMS: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  iso_timestamp: 'an RFC 3339 timestamp such as 2026-03-01T08:00:00Z',
  integer: 'a whole number',
  finite: 'a finite number',
  decimal: 'a number',
  url: 'an address',
};
const SHOWN_LENGTH = 80;

/** Goes on behind the name of a member. */
export function issueText({ type, input, expected, received, message }: BaseIssue<unknown>): string {
  if (input === undefined && received === 'undefined') return 'is required';
  if (!/^Invalid [\w ]+: (?:Expected|Received) /.test(message)) return message;
  const form = FORMS[type];
  if (form !== undefined) return `must be ${form}${given(received)}`;
  const bound = /^([<>]=)(.+)$/.exec(expected ?? '');
  if (bound) {
    const most = bound[1] === '<=' ? 'at most' : 'at least';
    if (!type.includes('length')) return `must be ${most} ${bound[2]}${given(received)}`;
    return `must have ${most} ${bound[2]} ${Array.isArray(input) ? 'items' : 'characters'}`;
  }
  return `must be ${allowed(expected ?? '')}${given(received)}`;
}

/** `("A" | "B" | null)` → `one of: A, B`. */
function allowed(expected: string): string {
  const words = expected.replace(/^\((.*)\)$/, '$1').split(' | ');
  const choices = words.filter((word) => /^".*"$/.test(word)).map((word) => word.slice(1, -1));
  const types = words.filter((word) => !/^".*"$/.test(word) && word !== 'undefined');
  const known = types.filter((word) => word !== 'null' || types.length + choices.length === 1);
  const parts = [...new Set(known.map((word) => TYPES[word] ?? word))];
  if (choices.length > 0)
    parts.unshift(choices.length === 1 ? `"${choices[0]}"` : `one of: ${choices.join(', ')}`);
  return parts.join(' or ');
}

function given(received: string): string {
  return `, got ${(TYPES[received] ?? received).slice(0, SHOWN_LENGTH)}`;
}
