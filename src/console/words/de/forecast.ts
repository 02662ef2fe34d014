/** Forecast of today and tomorrow. In German. */
import type { enLater } from '../en-later.ts';

const LIST = new Intl.ListFormat('de-DE', { type: 'conjunction' });

export const forecast: typeof enLater.forecast = {
  title: 'Heute und morgen',
  tomorrow: 'Morgen',
  picture: 'Sonne, Verbrauch und Preis von heute und morgen nach Stunden',
  amounts: (parts) => `Morgen: etwa ${LIST.format(parts)}.`,
  sunOf: (energy) => `${energy} Sonne`,
  loadOf: (energy) => `${energy} Verbrauch`,
  prices: (cheapest, dearest) => `Bezug ist am billigsten ${cheapest} und am teuersten ${dearest}.`,
  priceAt: (time, price) => `um ${time} (${price})`,
  importPrice: 'Bezugspreis',
  howDrawn: 'Blass oder gestrichelt: erwartet. Voll: gemessen.',
  planOf: (rule, device) => `${device}, geplant von ${rule}`,
  planActions: { CHARGE: 'laden', DISCHARGE: 'entladen', HOLD: 'halten', ON: 'ein', OFF: 'aus' },
  howPlanned: 'Plan: Laden über der Mitte, Entladen darunter, dünn für Halten oder Aus.',
  planMeasured: 'Linie: was die Batterie wirklich tat, nach oben für Laden.',
  batteryMeasured: 'Batterie gemessen',
  sunExpected: 'Sonne erwartet',
  sunMeasured: 'Sonne gemessen',
  loadExpected: 'Verbrauch erwartet',
  loadMeasured: 'Verbrauch gemessen',
};
