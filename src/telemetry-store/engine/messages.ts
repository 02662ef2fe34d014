/** Messages between the gateway and the thread of the store. They never leave the process. */
import type { EpochMs } from '../../lib/time.ts';
import type { LogFields, LogLevel } from '../../platform/log/index.ts';
import type { Changes, ChangesPlan } from './changes.ts';
import type { EngineContent, EngineStatus } from './engine.ts';
import type { EngineRoom } from './store-room.ts';
import type { Piece, StorePlan } from '../query/answer.ts';
import type { RetentionPolicy } from './retention.ts';

/** Options of the thread. */
export interface EngineThreadData {
  databasePath: string;
  migrationsDir: string;
  journalFolder: string;
  policy: RetentionPolicy;
  /** Absent: as much as the policy says for everything. */
  room?: EngineRoom;
  /** Samples of the journal before they are sealed, instead of the usual number. */
  openSamples?: number;
  /** The disk has refused parts of the journal for long: they are damaged. Default: they will be given. */
  acceptsRefused?: boolean;
  /** No power was lost since the journal was written: a last record that is not whole is damaged. */
  isTornEndDamage?: boolean;
}

export type ToEngine =
  /** The first message: the file may be opened now. */
  | { kind: 'open'; data: EngineThreadData }
  /** Lower bound of the true time, sent regularly. */
  | { kind: 'proven'; provenMs: EpochMs }
  | { kind: 'room'; room: EngineRoom }
  | { kind: 'record'; sequence: number; record: Uint8Array }
  | { kind: 'query'; id: number; plan: StorePlan }
  /** One piece of an answer was taken. */
  | { kind: 'more'; id: number }
  | { kind: 'cancel'; id: number }
  | { kind: 'seal'; id: number }
  | { kind: 'changes'; id: number; plan: ChangesPlan }
  /** Changes after this journal record must be kept; undefined: there is no reader. */
  | { kind: 'keep_changes'; sequence: number | undefined }
  | { kind: 'stop' };

export type FromEngine =
  | { kind: 'ready'; content: EngineContent }
  /** Everything up to this record can be read. */
  | { kind: 'applied'; sequence: number }
  /** `isLast`: no `done` follows. */
  | { kind: 'piece'; id: number; piece: Piece; isLast: boolean }
  | { kind: 'done'; id: number; error?: string; changes?: Changes }
  | { kind: 'sealed'; fromSequence: number; nextSeriesId: number }
  | { kind: 'status'; status: EngineStatus }
  | { kind: 'log'; level: LogLevel; message: string; fields: LogFields }
  | { kind: 'stopped' };
