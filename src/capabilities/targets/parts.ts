/** What all parts of targets stand on. */
import type { Limits } from '../../lib/limits.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { Audit } from '../audit/index.ts';
import type { Commands } from '../commands/index.ts';
import type { Devices } from '../devices/index.ts';
import type { Telemetry } from '../telemetry/index.ts';

export interface TargetParts extends Instruments {
  database: Database;
  devices: Devices;
  site: () => { name: string };
  telemetry: Pick<Telemetry, 'changes' | 'keepChanges' | 'latest'>;
  commands: Commands;
  audit: Audit;
  /** Folder of the data: who names a folder of a stick must not fill the card while the stick is missing. */
  dataDir: string;
  limits: Limits['targets'];
  /** Lets everything else run between two pieces of work. */
  pause: () => Promise<void>;
}
