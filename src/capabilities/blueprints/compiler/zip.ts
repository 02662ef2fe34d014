/**
 * The COMPILED view of a blueprint: a zip that describes the device on its own
 * (docs/interface/blueprints.md#archive).
 */
import { stringify } from 'yaml';
import type { CompiledManifest } from '../manifest.ts';
import { COMPILED_SCRIPT } from './compile.ts';

export function compiledFiles(
  manifest: CompiledManifest,
  script: Uint8Array | undefined,
): Map<string, Uint8Array> {
  // Texts such as `no` are quoted, because readers of YAML 1.1 take them for booleans.
  const text = stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  const files = new Map<string, Uint8Array>([['manifest.yml', Buffer.from(text)]]);
  if (script !== undefined) files.set(COMPILED_SCRIPT, script);
  return files;
}
