/** Values, ages and kinds of things. In German. */
import type { Words } from '../en.ts';

export const values: Words['values'] = {
  isNeeded: (name) => `${name} fehlt.`,
  yes: 'Ja',
  no: 'Nein',
  days: (count) => `${count} d`,
  hours: (count) => `${count} h`,
  minutes: (count) => `${count} min`,
  seconds: (count) => `${count} s`,
  gateway: 'Gateway',
  standalone: 'Eigenständiges Gerät',
  lua: 'Lua-Gerät',
  module: 'Kommunikationsmodul',
  hardwareModule: 'Hardware-Modul',
  inTheFuture: 'Zeit in der Zukunft',
  ago: (age) => `vor ${age}`,
  mustBeWhole: (name) => `${name} muss eine ganze Zahl sein.`,
  mustBeNumber: (name) => `${name} muss eine Zahl sein.`,
  mustBeYesOrNo: (name) => `${name} muss Ja oder Nein sein.`,
  mustBeJson: (name) => `${name} muss JSON sein.`,
  none: 'keine',
  status: { ONLINE: 'ONLINE', OFFLINE: 'OFFLINE', UNKNOWN: 'UNBEKANNT' },
  severity: { debug: 'Debug', info: 'Hinweis', warning: 'Warnung', error: 'Fehler' },
  role: {
    READONLY: 'nur lesen',
    USER: 'Nutzer',
    OWNER: 'Eigentümer',
    INSTALLER: 'Installateur',
    VENDOR: 'Hersteller',
    SYSTEM: 'System',
  },
};
