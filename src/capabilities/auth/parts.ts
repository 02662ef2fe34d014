/** Dependencies of all parts of access. */
import type { Emitter } from '../../lib/emitter.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { AuthEvents } from './model.ts';
import type { AuthStore } from './store.ts';

export interface AuthParts extends Instruments {
  database: Database;
  store: AuthStore;
  limits: Limits['auth'];
  events: Emitter<AuthEvents>;
  /** Folder with the file of the claim code. */
  dataDir: string;
  newId: () => string;
  random: (sizeBytes: number) => Buffer;
}
