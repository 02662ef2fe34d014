/** A folder as the build writes it for browsers, with the reference page and without a console. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildReference } from '../../scripts/reference/page.ts';
import { TEST_VERSION } from '../capabilities/blueprints/support.ts';

/** Removed after the test. */
export async function referenceFolder(test: { after: (end: () => void) => void }): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-reference-'));
  test.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'index.html'), '<!doctype html>');
  await buildReference(join(dir, 'docs'), TEST_VERSION);
  return dir;
}
