/** The frame around the pages, the start, and what went wrong on the way to the gateway. In German. */
import type { en } from '../en.ts';
import { refusals } from './refusals.ts';
import { inGerman, logInGerman } from './translate.ts';

export const frame: typeof en.frame = {
  noAnswer:
    'Das Gateway hat nicht geantwortet. Prüfen Sie, ob es läuft und ob dieses Gerät in seinem Netz ist.',
  noAnswerToChange:
    'Das Gateway hat nicht geantwortet. Es ist nicht bekannt, ob dies ausgeführt wurde: Prüfen Sie es, bevor Sie es noch einmal versuchen.',
  answeredWith: (status) => `Das Gateway hat mit Status ${status} geantwortet.`,
  proxyAnswered: (status) =>
    status === 413
      ? 'Der Proxy hat die Datei als zu groß abgelehnt (413). Die Grenze ist eine Einstellung des Proxys, nicht des Gateways.'
      : status === 502 || status === 503 || status === 504
        ? `Der Proxy hat mit Status ${status} geantwortet: Er erreicht das Gateway nicht.`
        : `Der Proxy hat mit Status ${status} geantwortet, nicht das Gateway.`,
  refused: (problem) => refusals.get(problem.code)?.(problem),
  said: inGerman,
  logged: logInGerman,
  overview: 'Übersicht',
  alerts: 'Meldungen',
  rules: 'Regeln',
  blueprints: 'Blueprints',
  site: 'Anlage',
  access: 'Zugang',
  box: 'System',
  noSuchPage: 'Diese Seite gibt es nicht',
  toTheDevices: 'Zur Übersicht',
  pages: 'Seiten',
  more: 'Mehr',
  timesOf: (zone) => `Zeiten in ${zone}`,
  logOut: 'Abmelden',
  toTheContent: 'Zum Inhalt',
  connectionLost:
    'Keine Live-Verbindung zum Gateway. Die Werte können veraltet sein. Die Verbindung wird wiederhergestellt …',
  rehearsal:
    'Dies ist die Probe einer Sicherung: Das Gateway sendet nichts, nimmt keine Befehle an und führt keine Regeln aus, bis ein Betreiber sie beendet.',
  obstacles: {
    origin: (origin, name) =>
      `Das Gateway kennt die Adresse ${origin} nicht; setzen Sie public_host auf ${name}. Die Werte kommen alle 10 s.`,
    stream: () => 'Der Proxy lässt keine WebSockets durch; die Werte kommen alle 10 s.',
  },
  claimTitle: 'Übernehmen Sie dieses Gateway',
  claimSubmit: 'Gateway übernehmen',
  claimCode: 'Übernahmecode',
  yourNameHint: 'Mit ihm melden Sie sich an.',
  newPassword: 'Neues Passwort',
  logIn: 'Anmelden',
  passwordLost: 'Passwort vergessen?',
  unreachable: 'Das Gateway antwortet nicht',
  unreachableHint: 'Prüfen Sie, ob es läuft und ob dieses Gerät in seinem Netz ist.',
  pageFailed: 'Diese Seite ist gescheitert',
  pageFailedHint:
    'Das Gateway wurde nicht gefragt. Laden Sie die Seite neu; hilft das nicht, nehmen Sie einen anderen Browser.',
  tryAgain: 'Erneut versuchen',
  atLeastCharacters: (count, hint) => `Mindestens ${count} Zeichen. ${hint}`,
  theSameAgain: 'Passwort wiederholen',
  theTwoDiffer: 'Die beiden Eingaben stimmen nicht überein.',
  product: 'Energie-Gateway',
  pageLost: 'Diese Seite konnte nicht geladen werden. Laden Sie sie neu, wenn das Gateway erreichbar ist.',
  notEncrypted: 'Diese Verbindung ist nicht verschlüsselt.',
  alsoAnswersAt: (address, authority) => [
    'Das Gateway ist auch unter ',
    address,
    ' erreichbar. Ihr Browser kennt sein Zertifikat noch nicht und fragt einmal nach, es sei denn, er vertraut ',
    authority('der Zertifizierungsstelle des Gateways'),
    '.',
  ],
  claimText: (file) => [
    'Noch hat es niemand übernommen. Der Übernahmecode steht in dem Terminal, in dem das Gateway installiert oder gestartet wurde. Er steht auch in der Datei ',
    file,
    ' im Datenordner.',
  ],
  passwordLostText: (installed, fromSources) => [
    'Führen Sie auf dem Gateway selbst ',
    installed,
    ' aus, oder ',
    fromSources,
    ', wenn es aus seinen Quellen läuft. Das meldet alle Installateure ab und zeigt einen neuen Übernahmecode.',
  ],
  loginReasons: {
    ended: 'Ihre Anmeldung ist abgelaufen. Melden Sie sich wieder an, um weiterzumachen, wo Sie waren.',
    restored:
      'Das Gateway ist wiederhergestellt. Melden Sie sich mit einem Benutzer und Passwort aus der Sicherung an.',
    claimed: 'Das Gateway wurde inzwischen übernommen. Melden Sie sich an.',
  },
  language: 'Sprache',
  otherLanguage: 'Sprache wechseln?',
  typedIsLost: 'Ihre nicht gespeicherten Änderungen gehen verloren.',
  leaveTitle: 'Diese Seite verlassen?',
  leave: 'Verlassen',
  loadAgain: 'Neu laden',
};
