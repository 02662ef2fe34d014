/** What a check tells the gateway that it has preloaded `preload.ts` into. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const PLANTS = ['sync', 'lock', 'byte-budget', 'call-limit', 'request-feed'] as const;
/** A protection that is taken out, so that the check has something to find. */
export type Plant = (typeof PLANTS)[number];

export interface FaultControl {
  /** Its wall clock is so far ahead; negative: behind. */
  clockOffsetMs: number;
  /** How much longer each sync takes. */
  syncDelayMs: number;
  /** Files whose path begins so are refused, as by a drive that is away; undefined: none. */
  refusedPath?: string | undefined;
  /** What it is refused with; default EIO. */
  refusedWith?: 'EIO' | 'EACCES' | undefined;
  /** Looked at when the process starts. */
  plants: readonly Plant[];
}

/** Takes effect within a moment; a process never sees half of it. */
export function writeControl(file: string, control: FaultControl): void {
  writeFileSync(`${file}.new`, JSON.stringify(control));
  renameSync(`${file}.new`, file);
}

/** For the command line of the process. */
export function controlFlags(file: string): string[] {
  const module = pathToFileURL(join(import.meta.dirname, 'preload.ts'));
  module.searchParams.set('file', file);
  return ['--import', module.href];
}
