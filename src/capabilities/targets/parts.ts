/** Dependencies of all parts of targets. */
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
  /** Folder of the data. The disk with it must not fill up while the stick of a folder target is missing. */
  dataDir: string;
  limits: Limits['targets'];
  /** Lets other work run between two pieces. */
  pause: () => Promise<void>;
}
