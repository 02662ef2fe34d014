/** Rows of the choices of people for the energy of the site. */
import { type Database, placeholders, upsert } from '../../platform/sqlite/index.ts';
import type { EnergySettings, SourceChoice } from './model.ts';
import { energyCurrency, energySetting, energySource, energyTariff } from './tables.ts';
import type { Tariff, TariffBook } from './tariff.ts';

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

export type TariffStore = ReturnType<typeof createTariffStore>;

export function createTariffStore({ orm }: Database) {
  const select = orm.select().from(energyTariff).orderBy(energyTariff.validFrom).prepare();
  const clear = orm.delete(energyTariff).prepare();
  const insert = orm.insert(energyTariff).values(placeholders(energyTariff)).prepare();
  const selectCurrency = orm.select({ currency: energyCurrency.currency }).from(energyCurrency).prepare();
  const putCurrency = upsert({ orm }, energyCurrency);

  return {
    book: (): TariffBook => ({ currency: selectCurrency.get()?.currency, items: select.all() }),
    /** In a transaction. */
    replaceTariffs(tariffs: readonly Tariff[]): void {
      clear.run();
      for (const tariff of tariffs) insert.run({ ...tariff });
    },
    putCurrency: (currency: string): void => void putCurrency.run({ id: ONLY_ID, currency }),
  };
}
