/** The commissioning protocol. In German. */
import type { enLater } from '../en-later.ts';

export const protocol: typeof enLater.protocol = {
  title: 'Inbetriebnahmeprotokoll',
  print: 'Drucken',
  readAgain: 'Neu lesen',
  reading: (read, all) => `Einstellungen werden gelesen: ${read} von ${all} Geräten …`,
  coordinates: 'Koordinaten',
  gatewayVersion: 'Version des Gateways',
  readAt: 'Gelesen am',
  blueprintVersion: (name, version) => `${name}, Fassung ${version}`,
  settings: 'Einstellungen, die von der Vorgabe abweichen',
  measured: 'Messwerte',
  nothingMeasured: 'Kein Wert in den letzten 24 Stunden.',
  commandsTried: 'Befehle und ihr letztes Ergebnis',
  otherTests: 'Prüfungen von Hand',
  test: 'Prüfung',
  result: 'Ergebnis',
  data: 'Sicherungen und Weiterleitung',
  handover: 'Übergabe',
  handoverText: 'Die Anlage wurde wie oben beschrieben übergeben und ihre Bedienung erklärt.',
  installer: 'Installateur',
  owner: 'Betreiber',
  placeAndDate: 'Ort, Datum',
};
