import type { en } from '../en.ts';
import type { Piece } from '../piece.ts';

export const dryRun: typeof en.dryRun = {
  days: { 1: 'den letzten 24 Stunden', 3: 'den letzten 3 Tagen', 7: 'den letzten 7 Tagen' },
  period: 'Aufgezeichnete Zeit',
  tryOn: 'Ausprobieren an',
  trying: 'Wird ausprobiert …',
  end: {
    period_ended: 'Das Skript ist durch die ganze Zeit gegangen.',
    finished: 'Das Skript hatte nichts mehr zu tun.',
    failed: 'Das Skript konnte nicht weitergehen.',
    limit_reached: 'Das Skript braucht zu lange, um die ganze Zeit auszuprobieren.',
  },
  cameTo: (moment: string) => `Es kam bis ${moment}. Nichts wurde befohlen oder gespeichert.`,
  changedSince: 'Das Skript wurde seitdem geändert. Was darunter steht, gilt für das von vorher.',
  truncated: 'Nicht alles, was es getan hat, ist aufgeführt.',
  nothing: 'Es hat nichts getan',
  nothingText: 'Zu dem, was in dieser Zeit gemessen wurde, hat das Skript nichts zu sagen oder zu befehlen.',
  removed: (store: string, key: string) => `${store} ${key} entfernt`,
  notSent: (method: string, url: string) => `${method} ${url} (nicht gesendet)`,
  startsAgain: (pause: string) => `startet neu in ${pause}`,
  kind: {
    log: 'Protokoll',
    command: 'Befehl',
    storage: 'gespeichert',
    http: 'Anfrage',
    error: 'Fehler',
    restart: 'Neustart',
  },
  whatItDid: 'Was die Regel getan hat',
  whatItRead: 'Was die Regel gelesen hat',
  noneDrawn: 'Sie hat keine Werte gelesen, die sich zeichnen lassen.',
  moreRead: (count: number) =>
    `Von dem, was sie gelesen hat, ${count === 1 ? 'ist 1 weiterer Wert' : `sind ${count} weitere Werte`} nicht gezeichnet.`,
  marks: (signs: readonly Piece[]): Piece[] => ['Zeichen: ', ...signs],
  keys: 'Pfeiltasten gehen von einem zum nächsten; sein Ort ist im Diagramm markiert.',
  wholeTime: 'Ganze Zeit',
  inHistory: 'Im Verlauf öffnen',
};
