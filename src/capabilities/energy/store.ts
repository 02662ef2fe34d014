/** Rows of the choices of people for the energy of the site. */
import { type Database, placeholders, upsert } from '../../platform/sqlite/index.ts';
import type { EnergySettings, SourceChoice } from './model.ts';
import { energySetting, energySource } from './tables.ts';

const ONLY_ID = 1;

export type EnergyStore = ReturnType<typeof createEnergyStore>;

export function createEnergyStore({ orm }: Database) {
  const { position, ...columns } = energySource;
  const { role, deviceId, power, isInverted, stateOfCharge, energyForward, energyReverse, powerMaxW } =
    columns;
  const select = orm
    .select({ role, deviceId, power, isInverted, stateOfCharge, energyForward, energyReverse, powerMaxW })
    .from(energySource)
    .orderBy(position)
    .prepare();
  const clear = orm.delete(energySource).prepare();
  const insert = orm.insert(energySource).values(placeholders(energySource)).prepare();
  const selectSetting = orm
    .select({ gapAfterS: energySetting.gapAfterS, powerMaxW: energySetting.powerMaxW })
    .from(energySetting)
    .prepare();
  const putSetting = upsert({ orm }, energySetting);

  return {
    choices: (): SourceChoice[] => select.all(),
    /** In a transaction. */
    replaceChoices(choices: readonly SourceChoice[]): void {
      clear.run();
      for (const [index, choice] of choices.entries()) insert.run({ ...choice, position: index });
    },
    /** Undefined while nobody changed them. */
    settings: (): EnergySettings | undefined => selectSetting.get(),
    putSettings: (settings: EnergySettings): void => void putSetting.run({ id: ONLY_ID, ...settings }),
  };
}
