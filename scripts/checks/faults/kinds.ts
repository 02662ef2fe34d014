/** Every kind of fault that a box meets, and how it is brought about. */
import { CLOCK_KINDS } from './clock-kinds.ts';
import { DATA_KINDS } from './data-kinds.ts';
import { DISK_KINDS } from './disk-kinds.ts';
import { LOAD_KINDS } from './load-kinds.ts';
import { PROCESS_KINDS } from './process-kinds.ts';
import type { FaultKind } from './kind.ts';
import { SERVER_KINDS } from './server-kinds.ts';

export const FAULT_KINDS: readonly FaultKind[] = [
  ...PROCESS_KINDS,
  ...DISK_KINDS,
  ...DATA_KINDS,
  ...CLOCK_KINDS,
  ...LOAD_KINDS,
  ...SERVER_KINDS,
];
