/** A file that the disk does not return. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { TestContext } from 'node:test';

/** Until the returned function is called. */
export function refuseReads(t: TestContext, path: string, code: string): () => void {
  const { readFileSync: given } = fs;
  const refusing = t.mock.method(fs, 'readFileSync', (asked: string, ...rest: []) => {
    if (asked !== path) return given(asked, ...rest);
    throw Object.assign(new Error(`${code}: refused, open '${path}'`), { code, path });
  });
  syncBuiltinESMExports();
  const end = (): void => {
    refusing.mock.restore();
    syncBuiltinESMExports();
  };
  t.after(end);
  return end;
}
