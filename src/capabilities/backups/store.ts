/** Rows of the backup plan and its outcome. */
import type { SecretSealer } from '../../platform/files/index.ts';
import { type Database, upsert } from '../../platform/sqlite/index.ts';
import type { BackupOutcome, BackupPlan } from './model.ts';
import { backupOutcome, backupPlan } from './tables.ts';

const ONLY_ID = 1;

export function createBackupStore({ orm }: Database, sealer: SecretSealer) {
  const selectPlan = orm.select().from(backupPlan).prepare();
  const putPlan = upsert({ orm }, backupPlan);
  const selectOutcome = orm.select().from(backupOutcome).prepare();
  const putOutcome = upsert({ orm }, backupOutcome);
  const put = (plan: BackupPlan): void => {
    const sealed = {
      password: sealer.seal(plan.password),
      targetPassword: sealer.seal(plan.targetPassword),
    };
    putPlan.run({ ...plan, ...sealed, id: ONLY_ID });
  };
  return {
    /** Undefined while nobody changed it. */
    plan(): BackupPlan | undefined {
      const row = selectPlan.get();
      if (!row) return undefined;
      const { password, targetPassword } = row;
      const plan = {
        ...row,
        password: sealer.open(password) ?? null,
        targetPassword: sealer.open(targetPassword) ?? null,
      };
      if (sealer.isClear(password) || sealer.isClear(targetPassword)) put(plan);
      return plan;
    },
    putPlan: put,
    /** Undefined before the first try. */
    outcome: (): BackupOutcome | undefined => selectOutcome.get(),
    putOutcome: (outcome: BackupOutcome): void => void putOutcome.run({ ...outcome, id: ONLY_ID }),
  };
}
