/**
 * What the gateway says in sentences, in German. Their text is what identifies them: it is what the interface carries and
 * the gateway stores, whatever it is put into. A test compares it with the sources. `{1}` stands for what is put in as it
 * is, `<1>` for what may be of the gateway too.
 */
import { ofRequests } from './sentences-of-requests.ts';

export const sentences: Readonly<Record<string, string>> = {
  // Disk and system.
  'The disk did not confirm this change: it may have been stored. Look before you repeat it, and check the disk.':
    'Der Datenträger hat diese Änderung nicht bestätigt; sie kann gespeichert sein. Vor dem Wiederholen nachsehen und den Datenträger prüfen.',
  'The disk fails now, so this cannot be stored or read. Check it.':
    'Der Datenträger ist gestört, deshalb kann nichts gespeichert oder gelesen werden. Prüfen Sie ihn.',
  'The disk is full, so this cannot be stored now. Make room on it.':
    'Der Datenträger ist voll, deshalb kann nichts gespeichert werden. Schaffen Sie Platz.',
  'The disk is full, or fails, so this cannot be stored or read now. Make room on it, or check it.':
    'Der Datenträger ist voll oder gestört. Schaffen Sie Platz, oder prüfen Sie ihn.',
  'The disk is almost full; what is left is for control.':
    'Der Datenträger ist fast voll; der Rest ist für die Steuerung.',
  'The disk does not take data.': 'Der Datenträger nimmt keine Daten an.',
  'The disk does not take data and the buffer is full.':
    'Der Datenträger nimmt keine Daten an, und der Zwischenspeicher ist voll.',
  'The disk is read-only now, so nothing can be stored. Check it.':
    'Der Datenträger ist schreibgeschützt, deshalb kann nichts gespeichert werden. Prüfen Sie ihn.',
  'The disk is read-only now, or has refused to open a file for writing, so nothing can be stored. Check it.':
    'Der Datenträger ist schreibgeschützt oder hat eine Datei nicht zum Schreiben geöffnet, deshalb kann nichts gespeichert werden. Prüfen Sie ihn.',
  'The system does not let the gateway use one of its files or folders. Give them back to the user of the gateway.':
    'Das System verweigert dem Gateway eine seiner Dateien oder einen Ordner. Geben Sie sie dem Benutzer des Gateways zurück.',
  'The gateway has as many files and connections open as it may. Close connections that nobody needs; it goes on then.':
    'Das Gateway darf keine weiteren Dateien und Verbindungen öffnen. Schließen Sie nicht benötigte Verbindungen; dann geht es weiter.',
  'The system starts nothing more now, for want of memory or because as many programs run as may. End what nobody needs; it goes on then.':
    'Das System startet nichts mehr, weil Speicher fehlt oder zu viele Programme laufen. Beenden Sie, was niemand braucht; dann geht es weiter.',
  'This work cannot begin now, for want of memory, of programs that may run, or of open files. If of these: <1>':
    'Dies kann gerade nicht beginnen: Es fehlt an Speicher, an erlaubten Programmen oder an offenen Dateien. Wenn an diesen: <1>',
  'Another program keeps a database of the gateway locked, or the system gives no locks now. End that program; it goes on then.':
    'Ein anderes Programm sperrt eine Datenbank des Gateways, oder das System gewährt keine Sperren. Beenden Sie das Programm; dann geht es weiter.',
  'A file cannot be opened now. <1> Or: <2>': 'Eine Datei kann nicht geöffnet werden. <1> Oder: <2>',
  '<1> ({2})': '<1> ({2})',

  // Alerts of the box.
  'Rows by table: {1}.': 'Einträge je Tabelle: {1}.',
  'Begun anew: {1}.': 'Neu begonnen: {1}.',
  'Set aside: {1}.': 'Beiseitegelegt: {1}.',
  'No backup was made by plan for longer than the plan allows.':
    'Länger als der Plan zulässt, wurde nach ihm keine Sicherung gemacht.',
  'Commands and changes are refused: <1>': '<1>',
  'History takes no data: <1>': '<1>',
  'The data folder cannot be read: <1>': '<1>',
  'The program {1} does not run yet, or ended and is started again after a pause.':
    'Das Programm {1} läuft noch nicht, oder es endete und wird nach einer Pause neu gestartet.',
  'Version {1} went away at {2}: <3>': 'Version {1} wurde um {2} zurückgenommen: <3>',
  '<1>: {2}': '<1>: {2}',
  'it did not become ready in time': 'sie wurde nicht rechtzeitig bereit',
  'it ended by itself several times (<1>)': 'sie beendete sich mehrmals von selbst (<1>)',
  'no exit code': 'ohne Rückgabewert',
  'it refused to run': 'sie verweigerte den Start',
  'it hung': 'sie reagierte nicht mehr',
  'it was cut off several times before it was ready': 'sie wurde mehrmals abgebrochen, bevor sie bereit war',
  'there was no room for a copy of the state, so it was not started':
    'für eine Kopie der Daten fehlte Platz, deshalb wurde sie nicht gestartet',
  'see energy-gateway-versions status on the box': 'siehe energy-gateway-versions status auf der Box',

  // Connections to servers.
  'Nothing listens at {1}.': 'Unter {1} antwortet kein Dienst.',
  'No address is known of the name {1}.': 'Der Name {1} ist im Netz nicht bekannt.',
  'The name server did not answer for {1}.': 'Der Nameserver hat zu {1} nicht geantwortet.',
  'There is no way through the network to {1}.': '{1} ist über das Netz nicht erreichbar.',
  'The site has no device "{1}", did you mean "{2}"?': 'Der Standort hat kein Gerät „{1}“; meinen Sie „{2}“?',
  'The site has no device "{1}".': 'Der Standort hat kein Gerät „{1}“.',
  'Device "{1}" has no attribute "{2}", did you mean "{3}"?':
    'Gerät „{1}“ hat kein Attribut „{2}“; meinen Sie „{3}“?',
  'Device "{1}" has no attribute "{2}".': 'Gerät „{1}“ hat kein Attribut „{2}“.',
  'Device "{1}" has no property "{2}", did you mean "{3}"?':
    'Gerät „{1}“ hat keine Eigenschaft „{2}“; meinen Sie „{3}“?',
  'Device "{1}" has no property "{2}".': 'Gerät „{1}“ hat keine Eigenschaft „{2}“.',
  'Device "{1}" has no command "{2}", did you mean "{3}"?':
    'Gerät „{1}“ hat keinen Befehl „{2}“; meinen Sie „{3}“?',
  'Device "{1}" has no command "{2}".': 'Gerät „{1}“ hat keinen Befehl „{2}“.',
  'No device has the attribute "{1}", did you mean "{2}"?':
    'Kein Gerät hat das Attribut „{1}“; meinen Sie „{2}“?',
  'No device has the attribute "{1}".': 'Kein Gerät hat das Attribut „{1}“.',
  'No device has the command "{1}", did you mean "{2}"?':
    'Kein Gerät hat den Befehl „{1}“; meinen Sie „{2}“?',
  'No device has the command "{1}".': 'Kein Gerät hat den Befehl „{1}“.',
  '{1} has no "{2}", did you mean "{3}"?': '{1} hat kein „{2}“; meinen Sie „{3}“?',
  '{1} has no "{2}".': '{1} hat kein „{2}“.',
  'Nothing is called "{1}", did you mean "{2}"?': 'Nichts heißt „{1}“; meinen Sie „{2}“?',
  'Nothing is called "{1}".': 'Nichts heißt „{1}“.',
  'Arguments of {1}: {2} expected, {3} given.': 'Argumente von {1}: {2} erwartet, {3} angegeben.',
  '{1} is of runtime {2}; this rule has runtime {3}.':
    '{1} gehört zur Laufzeitumgebung {2}; diese Regel hat {3}.',
  '{1} did not answer.': '{1} hat nicht geantwortet.',
  '{1} answers.': '{1} antwortet.',
  '{1} answers, and not in JSON.': '{1} antwortet, aber nicht in JSON.',
  '{1} answered {2}: it asks for a user and a password.':
    '{1} antwortete mit {2}: Es verlangt Benutzer und Passwort.',
  '{1} did not answer within {2} s.': '{1} hat nicht innerhalb von {2} s geantwortet.',
  '{1} ended the connection before it had answered.': '{1} hat die Verbindung beendet, ohne zu antworten.',
  '{1} ended the connection.': '{1} hat die Verbindung beendet.',
  '{1} does not end': '{1} endet nicht',
  'The certificate of the server is not for the name {1}.':
    'Das Zertifikat des Servers gilt nicht für den Namen {1}.',
  'The certificate of {1} has expired.': 'Das Zertifikat von {1} ist abgelaufen.',
  'The certificate of {1} is not valid yet: is the clock right?':
    'Das Zertifikat von {1} gilt noch nicht. Geht die Uhr richtig?',
  '{1} does not speak TLS on this port.': '{1} kann auf diesem Port kein TLS.',
  'The certificate or the private key given for {1} cannot be used; they must be whole, in PEM, of each other, and the key without a password.':
    'Das Zertifikat oder der private Schlüssel für {1} ist nicht verwendbar. Beide müssen vollständig, in PEM und ein Paar sein, der Schlüssel ohne Passwort.',
  'The certificate of {1} is of an authority that is not trusted here.':
    'Das Zertifikat von {1} stammt von einer Stelle, der dieses Gateway nicht vertraut.',
  'The certificate of {1} is of an authority that is not trusted here: give its certificate.':
    'Das Zertifikat von {1} stammt von einer Stelle, der dieses Gateway nicht vertraut. Geben Sie deren Zertifikat an.',
  'The certificate of {1} is not one to trust ({2}).':
    'Das Zertifikat von {1} ist nicht vertrauenswürdig ({2}).',
  'The answer is longer than {1} bytes: this is not the right server.':
    'Die Antwort ist länger als {1} Bytes: Das ist nicht der richtige Server.',
  '{1} answered {2}.': '{1} hat mit {2} geantwortet.',
  '{1} answered {2}: it sends elsewhere, which is not followed.':
    '{1} hat mit {2} geantwortet und verweist woandershin; dem wird nicht gefolgt.',
  '{1} answered {2}: it does not accept the token, or asks for one.':
    '{1} hat mit {2} geantwortet: Das Token fehlt oder wird nicht angenommen.',
  '{1} answered {2}: there is nothing at this address.':
    '{1} hat mit {2} geantwortet: Unter dieser Adresse gibt es nichts.',
  '{1} answered {2}: it was asked too often.': '{1} hat mit {2} geantwortet: zu viele Anfragen.',
  '{1} answered {2}: it has a fault of its own.': '{1} hat mit {2} geantwortet: Störung beim Server.',
  '{1} does not take mail for {2}.': '{1} nimmt keine E-Mail für {2} an.',
  '{1} does not accept the user name and password{2}.': '{1} nimmt Benutzername und Passwort nicht an{2}.',
  '{1} does not offer the encryption {2}, or not with a certificate to trust.':
    '{1} bietet die Verschlüsselung {2} nicht an, oder nicht mit einem vertrauenswürdigen Zertifikat.',
  '{1} refuses the sender or a receiver{2}.': '{1} lehnt den Absender oder einen Empfänger ab{2}.',
  '{1} refused the mail{2}.': '{1} hat die E-Mail abgelehnt{2}.',
  'The mail could not be handed to {1}.': 'Die E-Mail konnte nicht an {1} übergeben werden.',
  'The gateway failed to send it.': 'Das Gateway konnte sie nicht senden.',
  'Given up, because too many newer messages of rules wait.':
    'Aufgegeben, weil zu viele neuere Nachrichten von Regeln warten.',
  'The channel was switched off.': 'Der Kanal wurde ausgeschaltet.',
  'What it was about is gone, or the channel was switched off meanwhile.':
    'Der Anlass besteht nicht mehr, oder der Kanal wurde inzwischen ausgeschaltet.',

  // Brokers.
  '{1} does not accept the client id.': '{1} nimmt die Client-ID nicht an.',
  '{1} is not ready.': '{1} ist nicht bereit.',
  '{1} does not accept the user name or the password.': '{1} nimmt Benutzername oder Passwort nicht an.',
  '{1} does not let this client in.': '{1} lässt diesen Client nicht zu.',
  '{1} cannot be reached: <2>.': '{1} ist nicht erreichbar: <2>.',
  '{1} takes {2} bytes at once, a message on {3} has {4}.':
    '{1} nimmt höchstens {2} Bytes auf einmal; eine Nachricht auf {3} hat {4}.',
  '{1} does not let this client read {2}.': '{1} lässt diesen Client {2} nicht lesen.',
  '{1} does not let this client write to {2}.': '{1} lässt diesen Client nicht auf {2} schreiben.',
  '{1} does not take a message on {2}: {3}.': '{1} nimmt eine Nachricht auf {2} nicht an: {3}.',
  '{1} did not acknowledge a message.': '{1} hat eine Nachricht nicht bestätigt.',
  '{1} is needed no more.': '{1} wird nicht mehr gebraucht.',
  'The connection ends again and again: does another client have the same client id?':
    'Die Verbindung endet immer wieder. Benutzt ein anderer Client dieselbe Client-ID?',
  'The host application {1} is not online.': 'Die Host-Anwendung {1} ist nicht online.',

  // Targets.
  'The telemetry cannot be read now.': 'Die Messwerte können gerade nicht gelesen werden.',
  'The target does not take a line: {1}': 'Das Ziel nimmt eine Zeile nicht an: {1}',
  '{1} does not accept the token or the login: {2}': '{1} nimmt Token oder Anmeldung nicht an: {2}',
  '{1} does not know the address, the database or the bucket: {2}':
    '{1} kennt die Adresse, die Datenbank oder den Bucket nicht: {2}',
  '{1} asks for a pause: {2}': '{1} bittet um eine Pause: {2}',
  '{1} points to another address, give that one: {2}':
    '{1} verweist auf eine andere Adresse; geben Sie diese an: {2}',
  '{1} has a failure of its own: {2}': '{1} ist selbst gestört: {2}',
  '{1} does not take the request: {2}': '{1} nimmt die Anfrage nicht an: {2}',
  'There is no folder {1}.': 'Den Ordner {1} gibt es nicht.',
  '{1} is full. Make room on that disk.': '{1} ist voll. Schaffen Sie dort Platz.',
  '{1} cannot be used: <2>': '{1} ist nicht benutzbar: <2>',
  'Nothing is mounted at {1}: the stick or drive that was there is missing.':
    'Unter {1} ist nichts eingehängt: Der Stick oder das Laufwerk fehlt.',
  'The target is of the kind {1}.': 'Das Ziel ist von der Art {1}.',
  'The form {1} carries TELEMETRY alone.': 'Das Format {1} überträgt nur Messwerte.',
  'The {1} takes OLDEST_FIRST alone.': 'Hier geht nur „Das Älteste zuerst“ ({1}).',
  'The server is another one now: enter the secret again, or null for none.':
    'Der Server ist jetzt ein anderer: Geben Sie das Geheimnis noch einmal ein.',
  'The server or its login is another one now: enter the secret again, or null for none.':
    'Der Server oder die Anmeldung ist jetzt eine andere: Geben Sie das Geheimnis noch einmal ein.',

  // Backups.
  'What was stored is not what was sent: the place for backups is not to be trusted.':
    'Das Gespeicherte ist nicht das Gesendete: Diesem Ort für Sicherungen ist nicht zu trauen.',
  'The program {1} is missing: apt install {2}': 'Das Programm {1} fehlt: apt install {2}',
  '{1} ended with {2}: <3>': '{1} endete mit {2}: <3>',
  'it said nothing': 'ohne Meldung',
  'Part of the history is damaged. It is mended now; try again in a while.':
    'Ein Teil des Verlaufs ist beschädigt und wird jetzt repariert. Versuchen Sie es später noch einmal.',
  'The password is wrong, or the file is damaged.': 'Das Passwort ist falsch, oder die Datei ist beschädigt.',
  'The file is damaged, or its end is missing.': 'Die Datei ist beschädigt, oder ihr Ende fehlt.',
  'The file is damaged: its header has no end.': 'Die Datei ist beschädigt: Ihr Kopf hat kein Ende.',
  'The file is not a backup of a gateway.': 'Die Datei ist keine Sicherung eines Gateways.',
  'The file is not sealed by a password; open it with age and seal it with `age -p`.':
    'Die Datei ist nicht mit einem Passwort verschlüsselt. Öffnen Sie sie mit age, und verschlüsseln Sie sie mit „age -p“.',
  'The file asks for the work factor {1} of scrypt, at most {2} is taken.':
    'Die Datei verlangt den Aufwand {1} von scrypt; erlaubt ist höchstens {2}.',
  'The file is a database, but not a sound state.db of a gateway.':
    'Die Datei ist eine Datenbank, aber keine intakte state.db eines Gateways.',
  'The backup was made by a newer version of the gateway; install that one first.':
    'Die Sicherung stammt von einer neueren Version. Installieren Sie zuerst diese.',
  'The backup is not there any more.': 'Die Sicherung ist nicht mehr da.',
  'The backup cannot be used here: <1>.': 'Die Sicherung ist hier nicht verwendbar: <1>.',
  'The history in the backup cannot be used here: <1>.':
    'Der Verlauf in der Sicherung ist hier nicht verwendbar: <1>.',
  'it is of a newer version (schema {1}, this one knows {2})':
    'sie ist von einer neueren Version (Schema {1}, hier bekannt: {2})',
  'its database is damaged ({1})': 'ihre Datenbank ist beschädigt ({1})',
  'The backup cannot be read: {1}.': 'Die Sicherung ist nicht lesbar: {1}.',
  'The backup holds a strange file, {1}.': 'Die Sicherung enthält eine fremde Datei, {1}.',
  'The backup needs more room than is free on the disk.':
    'Die Sicherung braucht mehr Platz, als auf dem Datenträger frei ist.',
  'The backup is larger than {1} bytes.': 'Die Sicherung ist größer als {1} Bytes.',
  'The backup is incomplete: it has no {1}.': 'Die Sicherung ist unvollständig: {1} fehlt.',
  'No backup was uploaded.': 'Es wurde keine Sicherung hochgeladen.',
  'The plan needs a target before a backup can be made by itself.':
    'Der Plan braucht ein Ziel, bevor von selbst gesichert werden kann.',
  'The plan needs a password before a backup can be made by itself.':
    'Der Plan braucht ein Passwort, bevor von selbst gesichert werden kann.',
  'target <1>.': 'Das Ziel <1>.',

  // Updates.
  installed: 'installiert',
  'not installed: <1>': 'nicht installiert: <1>',
  'the package could not be copied to {1}, which takes free room':
    'das Paket konnte nicht nach {1} kopiert werden; dafür ist freier Speicherplatz nötig',
  'Version {1} runs; {2} and the state from before are kept: energy-gateway-versions return --yes':
    'Version {1} läuft; {2} und die Daten von vorher bleiben: energy-gateway-versions return --yes',
  'Version {1} failed; {2} runs again with its state from before the upgrade. What the failed version stored lies in {3}. <4>':
    'Version {1} ist gescheitert; {2} läuft wieder mit den Daten von vor dem Update. Was die gescheiterte Version gespeichert hat, liegt in {3}. <4>',
  'Why: <1>': 'Grund: <1>',
  'Why: <1>: {2}': 'Grund: <1>: {2}',
  'It did not become ready in time': 'Sie wurde nicht rechtzeitig bereit',
  'It refused to run': 'Sie verweigerte den Start',
  'It hung': 'Sie reagierte nicht mehr',
  'It was started {1} times and cut off each time': 'Sie wurde {1}-mal gestartet und jedes Mal abgebrochen',
  'It ended by itself ({1})': 'Sie endete von selbst ({1})',
  'Version {1} was not started: the state could not be copied to {2}, which takes free room. {3} runs.':
    'Version {1} wurde nicht gestartet: Die Daten konnten nicht nach {2} kopiert werden; dafür ist freier Speicherplatz nötig. {3} läuft.',
  'The installed version knows no key: put the public key of your packages into /etc/energy-gateway/update-keys.pem.':
    'Die installierte Version kennt keinen Schlüssel. Legen Sie den öffentlichen Schlüssel Ihrer Pakete in /etc/energy-gateway/update-keys.pem ab.',
  'The file is no Debian package.': 'Die Datei ist kein Debian-Paket.',
  'The package is damaged, or its end is missing.': 'Das Paket ist beschädigt, oder sein Ende fehlt.',
  'The package holds something beside its signature.': 'Das Paket enthält etwas neben seiner Signatur.',
  'The package is not signed.': 'Das Paket ist nicht signiert.',
  'The package is signed by a key that the installed version does not know (<1>).':
    'Das Paket ist mit einem Schlüssel signiert, den die installierte Version nicht kennt (<1>).',
  'The package is not the one that was signed: its content was changed.':
    'Der Inhalt des Pakets wurde nach dem Signieren verändert.',
  'The package is {1}, not {2}.': 'Das Paket ist {1}, nicht {2}.',
  'The package is without a name, not {1}.': 'Das Paket hat keinen Namen; es müsste {1} sein.',
  'The package is for {1} processors; this box has one of {2}.':
    'Das Paket ist für Prozessoren vom Typ {1}; diese Box hat {2}.',
  'The package has version {1}; {2} is installed, and only a newer one replaces it.':
    'Das Paket hat die Version {1}; installiert ist {2}. Nur eine neuere ersetzt sie.',
  'The update needs {1} MiB of free room; there are {2}.':
    'Das Update braucht {1} MiB freien Speicherplatz; frei sind {2}.',
  'An upload needs {1} MiB of free room.': 'Das Hochladen braucht {1} MiB freien Speicherplatz.',
  'No package was uploaded since the gateway was started.':
    'Seit dem Start des Gateways wurde kein Paket hochgeladen.',
  'This gateway was not installed by its package, or keeps its data elsewhere, so nobody would install an upload. Update it as it was installed.':
    'Dieses Gateway wurde nicht aus seinem Paket installiert, oder seine Daten liegen woanders. Aktualisieren Sie es so, wie es installiert wurde.',

  // Refusals because of the present state.
  'The gateway is starting.': 'Das Gateway startet.',
  'The gateway is stopping.': 'Das Gateway wird beendet.',
  'The caller went away before the answer was complete.': 'Die Anfrage wurde abgebrochen.',
  'The attempt was given up.': 'Der Versuch wurde aufgegeben.',
  'The history cannot be read now.': 'Der Verlauf kann gerade nicht gelesen werden.',
  'The history cannot be written now: <1>.': 'Der Verlauf kann gerade nicht gespeichert werden: <1>.',
  'Part of the history is damaged; what can be read of it is there in a moment.':
    'Ein Teil des Verlaufs ist beschädigt; was davon lesbar ist, ist gleich wieder da.',
  'The telemetry store is starting.': 'Der Verlauf wird gerade geöffnet.',
  'the store of telemetry is starting': 'der Verlauf wird gerade geöffnet',
  'The telemetry store was restarted.': 'Der Verlauf wurde neu geöffnet.',
  'Too many time series queries are waiting.': 'Es warten zu viele Abfragen des Verlaufs.',
  'Too many questions for energy are being answered.': 'Es laufen zu viele Abfragen der Energie.',
  'Too many requests of this kind are waiting; try again later.':
    'Es warten zu viele solche Anfragen. Versuchen Sie es später noch einmal.',
  'The clock of the gateway is not set.': 'Die Uhr des Gateways ist nicht gestellt.',
  'The gateway does not know the time yet.': 'Das Gateway kennt die Uhrzeit noch nicht.',
  'The rule sandbox is starting.': 'Der Teil, der Regeln ausführt, startet.',
  'The rule sandbox does not answer.': 'Der Teil, der Regeln ausführt, antwortet nicht.',
  'The rule sandbox ended during the dry run.':
    'Der Teil, der Regeln ausführt, endete während des Probelaufs.',
  'The execution was stored too late, so the command was not sent.':
    'Der Befehl wurde zu spät gespeichert und deshalb nicht gesendet.',
  'The execution could not be stored, so the command was not sent.':
    'Der Befehl konnte nicht gespeichert werden und wurde deshalb nicht gesendet.',
  'The module "{1}" is offline: it can look for nothing now.':
    'Das Modul „{1}“ ist offline und kann gerade nichts suchen.',

  // Search on a line.
  'Unit {1} answers, and does not say what it is.': 'Adresse {1} antwortet, nennt aber nicht, was sie ist.',
  'Unit {1} answers: <2>.': 'Adresse {1} antwortet: <2>.',
  '{1}, serial number {2}': '{1}, Seriennummer {2}',
  'Unit {1} is there, and refuses what it was asked with exception {2} ({3}).':
    'Adresse {1} ist da und lehnt die Anfrage mit Ausnahme {2} ab ({3}).',
  'Unit {1} does not answer within {2} ms.': 'Adresse {1} antwortet nicht innerhalb von {2} ms.',
  'Unit {1} does not answer: what is between says "{2}".':
    'Adresse {1} antwortet nicht; unterwegs heißt es „{2}“.',
  'Unit {1} answers as unit {2}: use unit {3}, or allow other ids (?ids=loose).':
    'Gerät {1} antwortet als Gerät {2}: Nummer {3} verwenden, oder andere Kennungen zulassen (?ids=loose).',
  'Unit {1} answers with another transaction id: allow other ids (?ids=loose).':
    'Gerät {1} antwortet mit einer anderen Transaktionsnummer: andere Kennungen zulassen (?ids=loose).',
  'What came back from unit {1} is no valid answer: {2}. Speed or parity may differ, or two units have the same id.':
    'Was von Adresse {1} kam, ist keine gültige Antwort: {2}. Vielleicht stimmen Baudrate oder Parität nicht, oder zwei Geräte haben dieselbe Adresse.',
  'What came back from unit {1} is no valid answer: {2}. Perhaps something else than Modbus listens there.':
    'Was von Adresse {1} kam, ist keine gültige Antwort: {2}. Vielleicht spricht dort etwas anderes als Modbus.',
  'The connection ends when unit {1} is asked: {2}.':
    'Die Verbindung endet, wenn Adresse {1} gefragt wird: {2}.',
  'All units were asked.': 'Alle Adressen wurden gefragt.',
  '{1} is in use: {2}.': '{1} ist in Benutzung: {2}.',
  'Another scan of {1} goes on.': 'Unter {1} läuft schon eine Suche.',
  '{1} leads nowhere: {2}.': '{1} führt nirgendwohin: {2}.',
  'The scan took too long and was ended; look at fewer units.':
    'Die Suche dauerte zu lange und wurde beendet. Suchen Sie unter weniger Adressen.',
  'The module was lost: <1>.': 'Das Modul ist nicht mehr da: <1>.',
  'it went offline': 'es ging offline',
  'it started again': 'es startete neu',
  'it does not answer': 'es antwortet nicht',

  // Ports.
  'is no CAN interface': 'Das ist keine CAN-Schnittstelle.',
  'the interface is down: its bit rate and state are set by the system':
    'Die Schnittstelle ist aus: Bitrate und Zustand setzt das System.',
  'no such interface': 'Diese Schnittstelle gibt es nicht.',
  'no such device file': 'Diese Gerätedatei gibt es nicht.',
  'no such channel': 'Diesen Kanal gibt es nicht.',
  'connection refused': 'Dort nimmt niemand die Verbindung an.',
  'no answer': 'Von dort kommt keine Antwort.',
  'no route to host': 'Dorthin führt kein Weg im Netz.',
  'no route to network': 'Dorthin führt kein Weg im Netz.',
  'unknown host': 'Diesen Rechner kennt das Netz nicht.',
  'is no serial line': 'Das ist keine serielle Schnittstelle.',
  'the program {1} is not installed, the package {2} brings it':
    'Das Programm {1} fehlt; es ist im Paket {2}.',
  'permission denied; the service must be in the group of the file':
    'Kein Zugriff: Der Dienst muss in der Gruppe der Datei sein.',
  'permission denied; the service must be in the group of the file, mostly dialout':
    'Kein Zugriff: Der Dienst muss in der Gruppe der Datei sein, meist dialout.',

  // Backups, folders, servers.
  '{1} is in the data folder of the gateway. Choose a folder outside.':
    '{1} liegt im Datenordner des Gateways. Wählen Sie einen Ordner außerhalb.',
  'The key of stored secrets cannot be written to {1}: <2>':
    'Der Schlüssel der gespeicherten Geheimnisse kann nicht nach {1} geschrieben werden: <2>',
  'The place for backups sends more than was asked for: it is not to be trusted.':
    'Der Speicherort der Sicherungen sendet mehr als verlangt: Ihm ist nicht zu trauen.',
  'The backup holds {1} twice.': 'Die Sicherung enthält {1} zweimal.',
  '{1} in the backup is not a plain file.': '{1} in der Sicherung ist keine gewöhnliche Datei.',
  '{1} in the backup is longer than {2} bytes.': '{1} in der Sicherung ist länger als {2} Bytes.',
  'The backup calls {1} by two names.': 'Die Sicherung nennt {1} mit zwei Namen.',
  '{1} in the backup is damaged.': '{1} in der Sicherung ist beschädigt.',
  '{1} in the backup is not readable.': '{1} in der Sicherung ist nicht lesbar.',
  '{1} does not answer in HTTP: is the address right?': '{1} antwortet nicht in HTTP: Stimmt die Adresse?',
  'It said: "{1}"': 'Die Antwort: „{1}“',
  ' It said: "{1}"': ' Die Antwort: „{1}“',
  'The processor of the gateway is busy with other work; try again later.':
    'Der Prozessor des Gateways ist mit anderem beschäftigt; versuchen Sie es später.',
  'The CSV text is not UTF-8. Save it as "CSV UTF-8".':
    'Der CSV-Text ist nicht in UTF-8. Speichern Sie ihn als „CSV UTF-8“.',

  ...ofRequests,
};
