/** Compares the error codes that sources raise with the list in docs/errors.md. */
import { lineAt, type SourceFile } from './source-files.ts';

export interface UsedCode {
  /** Undefined: not written as text where it is used. */
  code: string | undefined;
  /** Undefined: decided elsewhere (a problem of a list). */
  kind: string | undefined;
  by: string;
  where: string;
}

export interface ListedCode {
  code: string;
  kind: string;
}

const TEXT = `'([\\w/]+)'`;
const CALLS =
  /(?<![.\w])(?<!function )(gatewayError|notFound|requireFound|unprocessable|requireUnderLimit|conflict)\(\s*/g;
/** Kinds of errors that are given by a code alone. */
const KINDS: Readonly<Record<string, string>> = {
  notFound: 'not_found',
  requireFound: 'not_found',
  unprocessable: 'unprocessable',
  requireUnderLimit: 'unprocessable',
  conflict: 'conflict',
};
const KIND_AND_CODE = new RegExp(`^${TEXT},\\s*(?:${TEXT})?`);
const CODE = new RegExp(`^${TEXT}`);
const PROBLEM = new RegExp(`(?<!\\w)code:\\s*${TEXT}`, 'g');

export function usedCodes(sources: readonly SourceFile[]): UsedCode[] {
  const used: UsedCode[] = [];
  for (const file of sources) {
    for (const call of file.code.matchAll(CALLS)) {
      const by = call[1] ?? '';
      const rest = file.text.slice(call.index + call[0].length, call.index + call[0].length + 200);
      const where = `${file.path}:${lineAt(file.text, call.index)}`;
      const kind = KINDS[by];
      const match = kind === undefined ? KIND_AND_CODE.exec(rest) : CODE.exec(rest);
      // `lib/errors.ts` hands codes through from its callers.
      if (file.path === 'src/lib/errors.ts' && match?.[kind === undefined ? 2 : 1] === undefined) continue;
      if (kind !== undefined) used.push({ code: match?.[1], kind, by, where });
      else used.push({ code: match?.[2], kind: match?.[1], by, where });
    }
    for (const match of file.text.matchAll(PROBLEM))
      if (file.code[match.index] === 'c')
        used.push({
          code: match[1],
          kind: undefined,
          by: 'a problem',
          where: `${file.path}:${lineAt(file.text, match.index)}`,
        });
  }
  return used;
}

/** Rows `| `code` | `kind` | sentence |`. */
export function listedCodes(document: string): ListedCode[] {
  return [...document.matchAll(/^\| `([^`]+)` \| `?([\w, `]+?)`? \| \S/gm)].map((match) => ({
    code: match[1] ?? '',
    kind: match[2] ?? '',
  }));
}

export function errorCodeFaults(used: readonly UsedCode[], listed: readonly ListedCode[]): string[] {
  const faults: string[] = [];
  for (const { code, by, where } of used)
    if (code === undefined)
      faults.push(`${where}: write the code of ${by} as text, so that it can be checked`);
  for (const { code, kind, where } of used) {
    if (code === undefined) continue;
    const row = listed.find((candidate) => candidate.code === code);
    if (row === undefined) faults.push(`${where}: code ${code} is not in docs/errors.md`);
    // One code may say the same under two statuses: no header at all, and a wrong one.
    else if (kind !== undefined && !row.kind.split(', ').includes(kind))
      faults.push(`docs/errors.md: ${code} is ${row.kind} there, ${kind} in ${where}`);
  }
  const codes = new Set(used.map(({ code }) => code));
  for (const { code } of listed) if (!codes.has(code)) faults.push(`docs/errors.md: no source uses ${code}`);
  for (const [index, { code }] of listed.entries()) {
    const previous = listed[index - 1]?.code ?? '';
    if (code <= previous)
      faults.push(`docs/errors.md: ${code} stands after ${previous}, keep rows sorted and single`);
  }
  return faults;
}
