/** The audit trail: who changed or commanded what, when, from where, with what result. Never a secret. */
import type { EpochMs } from '../../lib/time.ts';

export const ORIGIN_KINDS = ['token', 'user', 'rule', 'device', 'target', 'anonymous', 'local'] as const;

/** The person, program or device that made the change. */
export interface AuditOrigin {
  /** `local`: a command run on the box itself; `device`: a device or its script; `target`: who sends commands through a target. */
  readonly kind: (typeof ORIGIN_KINDS)[number];
  readonly id: string;
  readonly name: string;
}

/** Origin of a call without a token. */
export const NOBODY = { kind: 'anonymous', id: 'anonymous', name: 'anonymous' } as const;

/** Operation of an entry that sums up refusals: their number is in `target.count`, with the last operation. */
export const OMITTED_REFUSALS = 'refusals_omitted';

export interface AuditEntry {
  readonly atMs: EpochMs;
  readonly origin: AuditOrigin;
  /** Name of the operation, as in the description of the interface; `admin_…` for a local command. */
  readonly operation: string;
  /** The object of the operation: parameters of the path and ids of what was made. Bodies are not kept. */
  readonly target: Readonly<Record<string, string>>;
  /** HTTP status of the answer, or of the answer that a request for the same would get; 0 for a local command. */
  readonly status: number;
  /** Absent for a local command. */
  readonly remoteAddress?: string;
}

export interface StoredEntry extends AuditEntry {
  /** Grows with every entry, whatever the wall clock says. */
  readonly number: number;
}

export interface AuditEvents {
  /** Something was changed or commanded, with success; its entry may still wait for the disk. */
  action_done: { entry: AuditEntry };
}

/** An absent filter does not restrict. */
export interface AuditFilter {
  fromMs?: EpochMs | undefined;
  beforeMs?: EpochMs | undefined;
  /** Id or name of who did it. */
  origin?: string | undefined;
  operation?: string | undefined;
}
