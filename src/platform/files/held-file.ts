/** Whether a path still leads to the file or folder that was found there: somebody may remove, replace or cover it. */
import { statSync } from 'node:fs';
import { unlessRefused } from '../../lib/system-fault.ts';
import { unlessAbsent } from './private-files.ts';

/** A file or folder as it was found at a path. */
export class HeldFile {
  readonly path: string;
  readonly #identity: string | undefined;

  /**
   * Takes note of what is there now. A file has to stay open meanwhile: a system may give the number of one that nobody
   * uses to another.
   */
  constructor(path: string) {
    this.path = path;
    this.#identity = identityOf(path);
  }

  /** True as well while the disk does not tell. */
  get isInPlace(): boolean {
    return unlessRefused(
      () => identityOf(this.path) === this.#identity,
      () => true,
    );
  }
}

/** Undefined: nothing is there. */
function identityOf(path: string): string | undefined {
  const found = unlessAbsent(() => statSync(path, { bigint: true }));
  return found && `${found.dev} ${found.ino}`;
}
