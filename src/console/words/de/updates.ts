/** Newer versions of the box. In German. */
import type { enLater } from '../en-later.ts';

export const updates: typeof enLater.updates = {
  versionName: (version) => `Version ${version}`,
  newerVersion: 'Die neue Version',
  oneBefore: 'die vorige Version',
  startsAgain: (before) =>
    `Das Gateway startet neu. Es kopiert zuerst seinen Zustand; bei viel Inhalt dauert das Minuten. Wird die neue Version nicht bereit, kommt ${before} mit ihrem Zustand zurück.`,
  judgedAgain: (name) =>
    `${name} wird noch einmal geprüft und entpackt. Das Gateway arbeitet, bis es neu startet. Es ist nichts zu tun; diese Seite sagt, wenn es vorbei ist.`,
  runs: (to, from) =>
    `Version ${to} läuft. Sollte sie nicht bereit bleiben, kommt ${from} von selbst zurück, mit dem Zustand von vorher.`,
  loadConsole: 'Neue Konsole laden',
  tellMore: 'Auf der Box sagen energy-gateway-versions status und das Journal mehr.',
  installed: 'Installiert',
  lastUpdate: 'Letztes Update',
  noPackage:
    'Dieses Gateway wurde nicht aus seinem Paket installiert und kann hier nicht aktualisiert werden. Aktualisieren Sie es so, wie es installiert wurde.',
  installerCan: 'Ein Installateur kann eine neuere Version einspielen.',
  dropPackage: 'Paket einer neueren Version hierher ziehen oder auswählen …',
  fileIsSent: (name) => `${name} wird gesendet`,
  sending: 'Wird gesendet …',
  judging: 'Wird geprüft …',
  nothingChanges: 'Nichts ändert sich, bevor Sie zustimmen.',
  isHere: (version) => `Version ${version} kann installiert werden`,
  signed: 'Signatur',
  byKnownKey: 'gültig, von einem Schlüssel, dem diese Version vertraut',
  size: 'Größe',
  installedSize: (size) => `${size} installiert`,
  processor: 'Prozessor',
  forget: 'Verwerfen',
  installTitle: (to, from) => `Version ${to} anstelle von ${from} installieren?`,
  installText:
    'Das Gateway stoppt und startet mit ihr neu: Geräte werden eine Minute oder länger nicht bedient. Wird sie nicht bereit, kommt die jetzige Version mit ihrem Zustand zurück.',
  install: 'Installieren',
  installAsking: 'Installieren …',
  saysNothingNew: 'Sie hat keine Versionshinweise.',
  whatIsNew: 'Versionshinweise',
  failedTitle: (version) => `Das Update auf Version ${version} wurde zurückgenommen`,
  failed: (moment, why) =>
    `${moment}: ${why} Die Version davor läuft wieder, mit ihrem Zustand von vor dem Update.`,
  ended: (status) => `Sie hat sich mehrmals von selbst beendet, zuletzt mit ${status}.`,
  failedBy: {
    NOT_READY: 'Sie wurde nicht rechtzeitig bereit.',
    REFUSED: 'Sie hat den Start verweigert.',
    HUNG: 'Sie reagierte nicht mehr.',
    CUT_OFF: 'Jeder ihrer Starts wurde abgebrochen, bevor sie bereit war, etwa weil der Strom ausfiel.',
    NO_COPY:
      'Für eine Kopie des Zustands war nicht genug Speicherplatz frei; deshalb wurde sie nicht gestartet.',
    OTHER: 'Auf der Box sagt energy-gateway-versions status, warum.',
  },
  itSaid: 'Sie meldete:',
  unknownStatus: 'keinem Rückgabewert',
  tryAgain: 'Sie kann noch einmal installiert werden.',
  makeRoom: 'Schaffen Sie Speicherplatz, und installieren Sie sie noch einmal.',
  mendOrWait:
    'Beheben Sie, was sie nennt, und installieren Sie sie noch einmal. Sonst bleiben Sie bei der jetzigen Version, schicken deren Hersteller einen Problembericht (System → Status) und installieren die nächste.',
  waitForNext:
    'Bleiben Sie bei der jetzigen Version, schicken Sie deren Hersteller einen Problembericht (System → Status), und installieren Sie die nächste.',
  runsNot: (running, to) => `Version ${running} läuft, nicht ${to}.`,
};
