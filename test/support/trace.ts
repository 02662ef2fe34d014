/**
 * Notes which request was sent by which test, for `scripts/checks/coverage.ts`; does nothing unless the
 * environment names a file for it.
 */
import { appendFileSync } from 'node:fs';
import { getTestContext } from 'node:test';

const FILE = process.env['CONTRACT_TRACE_FILE'];

const BODY_LENGTH = 4_096;

export interface Traced {
  method: string;
  /** With its query. */
  path: string;
  headers: Headers | Record<string, string>;
  body: unknown;
  status: number;
  /** Whose token it carried: a role, `nobody` for none; undefined: somebody else. */
  caller?: string | undefined;
}

export function trace({ method, path, headers, body, status, caller }: Traced): void {
  if (FILE === undefined) return;
  const test = getTestContext();
  const entry = {
    test: test?.fullName ?? 'outside of tests',
    file: test?.filePath,
    method,
    path,
    headers: Object.fromEntries(new Headers(headers)),
    body: textOf(body),
    status,
    caller,
  };
  appendFileSync(FILE, `${JSON.stringify(entry)}\n`);
}

/** The text of a JSON body, cut to what a reader needs; archives have none. */
function textOf(body: unknown): string | undefined {
  if (body === undefined) return undefined;
  const text = body instanceof Uint8Array ? Buffer.from(body).toString('utf8') : body;
  return (typeof text === 'string' ? text : JSON.stringify(text)).slice(0, BODY_LENGTH);
}
