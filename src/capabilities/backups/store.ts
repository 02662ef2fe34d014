/** Rows of the backup plan and its outcome. */
import { type Database, upsert } from '../../platform/sqlite/index.ts';
import type { BackupOutcome, BackupPlan } from './model.ts';
import { backupOutcome, backupPlan } from './tables.ts';

const ONLY_ID = 1;

export function createBackupStore({ orm }: Database) {
  const selectPlan = orm.select().from(backupPlan).prepare();
  const putPlan = upsert({ orm }, backupPlan);
  const selectOutcome = orm.select().from(backupOutcome).prepare();
  const putOutcome = upsert({ orm }, backupOutcome);
  return {
    /** Undefined while nobody changed it. */
    plan: (): BackupPlan | undefined => selectPlan.get(),
    putPlan: (plan: BackupPlan): void => void putPlan.run({ ...plan, id: ONLY_ID }),
    /** Undefined before the first try. */
    outcome: (): BackupOutcome | undefined => selectOutcome.get(),
    putOutcome: (outcome: BackupOutcome): void => void putOutcome.run({ ...outcome, id: ONLY_ID }),
  };
}
