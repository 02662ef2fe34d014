/** Forecast of today and tomorrow. */

const LIST = new Intl.ListFormat('en-GB', { type: 'conjunction' });

export const forecast = {
  title: 'Today and tomorrow',
  tomorrow: 'Tomorrow',
  picture: 'Sun, consumption and price of today and tomorrow by hour',
  amounts: (parts: readonly string[]) => `Tomorrow: about ${LIST.format(parts)}.`,
  sunOf: (energy: string) => `${energy} of sun`,
  loadOf: (energy: string) => `${energy} of consumption`,
  prices: (cheapest: string, dearest: string) => `Import is cheapest ${cheapest} and dearest ${dearest}.`,
  priceAt: (time: string, price: string) => `at ${time} (${price})`,
  importPrice: 'Import price',
  howDrawn: 'Pale or dashed: expected. Full: measured.',
  planOf: (rule: string, device: string) => `${device}, planned by ${rule}`,
  planActions: { CHARGE: 'charge', DISCHARGE: 'discharge', HOLD: 'hold', ON: 'on', OFF: 'off' },
  howPlanned: 'Plan: charging above the middle, discharging below it, thin for hold or off.',
  planMeasured: 'Line: what the battery really did, up for charging.',
  batteryMeasured: 'Battery measured',
  sunExpected: 'Sun expected',
  sunMeasured: 'Sun measured',
  loadExpected: 'Consumption expected',
  loadMeasured: 'Consumption measured',
};
