import type { enLater } from '../en-later.ts';
import type { Piece } from '../piece.ts';

export const dryRun: typeof enLater.dryRun = {
  days: { 1: 'den letzten 24 Stunden', 3: 'den letzten 3 Tagen', 7: 'den letzten 7 Tagen' },
  period: 'Aufgezeichneter Zeitraum',
  tryOn: 'Ausprobieren an',
  trying: 'Wird ausprobiert …',
  end: {
    period_ended: 'Das Skript hat den ganzen Zeitraum durchlaufen.',
    finished: 'Das Skript ist fertig: Es hatte nichts mehr zu tun.',
    failed: 'Das Skript ist fehlgeschlagen.',
    limit_reached: 'Das Skript braucht zu lange, um am ganzen Zeitraum ausprobiert zu werden.',
  },
  cameTo: (moment: string) => `Es kam bis ${moment}. Es wurde nichts befohlen, gesendet oder gespeichert.`,
  changedSince: 'Das Skript wurde seitdem geändert. Das Ergebnis unten gilt für die frühere Fassung.',
  truncated: 'Nicht alles, was es getan hat, ist aufgeführt.',
  nothing: 'Es hat nichts getan',
  nothingText: 'Bei den Messwerten dieses Zeitraums protokolliert und befiehlt das Skript nichts.',
  removed: (store: string, key: string) => `${store} ${key} entfernt`,
  notSent: (method: string, url: string) => `${method} ${url} (nicht gesendet)`,
  startsAgain: (pause: string) => `startet neu in ${pause}`,
  kind: {
    log: 'Protokoll',
    command: 'Befehl',
    storage: 'gespeichert',
    http: 'Anfrage',
    notification: 'Nachricht',
    error: 'Fehler',
    restart: 'Neustart',
  },
  whatItDid: 'Was die Regel getan hat',
  whatItRead: 'Was die Regel gelesen hat',
  noneDrawn: 'Sie hat keine Werte gelesen, die sich zeichnen lassen.',
  moreRead: (count: number) =>
    `Von dem, was sie gelesen hat, ${count === 1 ? 'ist 1 weiterer Wert' : `sind ${count} weitere Werte`} nicht gezeichnet.`,
  marks: (signs: readonly Piece[]): Piece[] => ['Zeichen: ', ...signs],
  keys: 'Gehen Sie mit den Pfeiltasten durch die Liste; das Diagramm markiert den gewählten Eintrag.',
  wholeTime: 'Ganzer Zeitraum',
  inHistory: 'Im Verlauf öffnen',
};
