/** Rules, their editor and their forms. In German. */
import type { enLater } from '../en-later.ts';

export const rules: typeof enLater.rules = {
  runtimeV3: 'V3: wartet auf Ereignisse',
  runtimeV1: 'V1: läuft in einem Intervall',
  runtime: 'Laufzeitumgebung',
  interval: 'Intervall',
  intervalHint: 'Zum Beispiel 500ms, 10s oder 1m; leer bedeutet 1s.',
  nameAllowed: 'Buchstaben, Ziffern, - und _',
  letRun: 'Regeln fortsetzen',
  suspendAll: 'Alle Regeln anhalten',
  newRule: 'Neue Regel',
  allSuspended: 'Alle Regeln sind angehalten. Keine läuft, auch nicht nach einem Neustart.',
  noneYet: 'Noch keine Regel',
  noneYetText:
    'Eine Regel beobachtet Geräte und sendet ihnen Befehle, zum Beispiel: das Auto laden, wenn die Sonne mehr gibt, als das Haus braucht. Sie läuft auf dem Gateway, ohne Cloud.',
  seeTemplates: 'Vorlagen ansehen',
  everyDay: 'täglich',
  whenLimit: (value, isBelow, limit, span, then) =>
    `Wenn ${value} ${span && `für ${span} `}${isBelow ? 'unter' : 'über'} ${limit} liegt: ${then}`,
  atTime: (time, days, then) => `Um ${time}, ${days}: ${then}`,
  lastLog: (words) => `Letzter Eintrag ${words}`,
  lastError: (words) => `Letzter Fehler ${words}`,
  onlyOwners: 'Nur Eigentümer und Installateure können Regeln anlegen',
  goOn: 'Damit weitermachen',
  throwTitle: 'Das nicht gespeicherte Skript verwerfen?',
  throwAwayAsking: 'Verwerfen …',
  byQuestions: 'Mit ein paar Fragen',
  asLua: 'Als Lua-Skript',
  unsavedScript: 'Das nicht gespeicherte Skript',
  empty: 'Leeres Skript',
  emptyAbout: 'Schreiben Sie es selbst. Der Editor kennt die Geräte der Anlage.',
  noTemplate: 'Vorlage nicht gefunden',
  makeRule: 'Regel anlegen',
  saveAndRun: 'Speichern und ausführen',
  savedBeside: 'Gespeichert. Ihr Protokoll steht daneben.',
  faultTitle: 'Ein Skript speichern, das sich nicht übersetzen lässt?',
  faultText: 'Die Regel, die jetzt läuft, würde enden, und nichts liefe an ihrer Stelle.',
  saveWithFault: 'Trotzdem speichern',
  notSavedWithFault: (fault) => `Nicht gespeichert: Das Skript lässt sich nicht übersetzen. ${fault}`,
  notSaved:
    'Noch nicht gespeichert. Dieser Browser behält Ihre Änderungen, bis Sie sie speichern oder verwerfen.',
  deleteText: 'Ihr Skript und ihr Protokoll werden gelöscht. Das lässt sich nicht rückgängig machen.',
  discardText: 'Das Skript wird auf die Fassung des Gateways zurückgesetzt.',
  isDeleted: 'Diese Regel wurde gelöscht.',
  somebodyElse:
    'Jemand anderes hat diese Regel gespeichert, während Sie geschrieben haben. Noch ist keine der beiden Fassungen verloren.',
  versions: 'Frühere Fassungen',
  noVersions: 'Das Skript wurde noch nicht geändert.',
  savedBy: (name) => `von ${name}`,
  differences: 'Unterschiede',
  differencesHint: 'Zeilen mit − stehen nur in dieser Fassung, Zeilen mit + nur im heutigen Skript.',
  restoreVersion: 'Zu dieser Fassung zurück',
  keepMine: 'Meine behalten',
  takeTheirs: 'Die andere nehmen',
  logNothing: 'Einträge der Regel erscheinen hier, sobald sie eintreffen.',
  faultAt: (message, line) => (line === undefined ? message : `Zeile ${line}: ${message}`),
  script: 'Skript (Lua)',
  editorLost: ' Der Editor konnte nicht geladen werden. Dieses einfache Feld funktioniert auch.',
  noDeviceHasAny: 'Kein passendes Gerät',
  command: 'Befehl',
  value: 'Wert',
  showScript: 'Skript zeigen',
  saveParameters: 'Speichern und neu starten',
  takeOver:
    'Das Skript darunter entsteht aus diesem Formular. Sobald Sie es ändern, ist es Ihres, und das Formular entfällt.',
  whenSilent: (sentence) => `Ohne frische Werte: ${sentence}`,
  windowFrom: (title) => `${title}, von`,
  windowTo: (title) => `${title}, bis`,
  argumentSet: 'Eingestelltes Argument',
  itemTitle: (position) => `Nr. ${position}`,
  removeLast: 'Den letzten entfernen',
  weekday: {
    monday: 'Montag',
    tuesday: 'Dienstag',
    wednesday: 'Mittwoch',
    thursday: 'Donnerstag',
    friday: 'Freitag',
    saturday: 'Samstag',
    sunday: 'Sonntag',
  },
  outputs: 'Von Regeln gesetzt',
  safeValue: 'sicherer Wert',
  nobody: 'keine Regel',
  limitedBy: (rules: string) => `begrenzt durch ${rules}`,
  safeAfter: (command: string) => `Wenn keine Regel mehr etwas verlangt: ${command}`,
  otherCommand: (command: string, by: string | undefined) =>
    `${by ?? 'Jemand'} hat ${command} gesendet; das gilt bis zur nächsten Änderung.`,
  disabled: 'Ausgeschaltet',
  doesNotCompile: 'Lässt sich nicht kompilieren',
  running: 'Läuft',
  starting: 'Startet …',
  ended: 'Beendet',
  failedAgainIn: (age) => `Fehlgeschlagen, erneut in ${age}`,
  failedStarting: 'Fehlgeschlagen, startet erneut',
  suspended: 'Angehalten',
  aheadOfUtc: 'Sekunden vor UTC',
  runOnce: 'einmal ausführen',
  ofAllRules: 'aller Regeln',
  scriptHint:
    'Eine Regel darf jeden Befehl jedes Geräts ausführen, auch die über Ihrer eigenen Rolle. Tab rückt ein; Esc und dann Tab verlässt das Feld.',
  runtimeOf: (runtime, interval) =>
    `Laufzeitumgebung ${runtime}${interval === undefined ? '' : `, alle ${interval}`}`,
  unsavedHere: (slug) => `In diesem Browser gibt es ein nicht gespeichertes Skript${slug && `: ${slug}`}.`,
  theySaved: (slug) => `Die andere Fassung${slug && `, gespeichert als ${slug}`}`,
  exampleName: 'nacht-laden',
  templateTitle: (name, own) =>
    (
      {
        'alert-escalation': 'Meldung eskalieren',
        'battery-night-reserve': 'Nachtreserve der Batterie',
        'surplus-to-load': 'Überschuss für eine Last',
      } as Record<string, string | undefined>
    )[name] ?? own,
  templateAbout: (name, own) =>
    (
      {
        'alert-escalation':
          'Eine Meldung, die bleibt, wird ins Protokoll dieser Regel geschrieben und löst dann den Alarm aus.',
        'battery-night-reserve':
          'Hält Ladung für einen Netzausfall zurück, solange die Sonne fort ist, und nutzt die Batterie am Tag.',
        'surplus-to-load':
          'Schließt ein Relais, solange mehr ins Netz eingespeist wird, als die Last braucht.',
      } as Record<string, string | undefined>
    )[name] ?? own,
};
