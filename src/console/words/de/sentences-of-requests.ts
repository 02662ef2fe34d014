/** Faults of a request, in the form of `sentences.ts`. A fault of a field continues the field's name. */
export const ofRequests: Readonly<Record<string, string>> = {
  'Field "{1}" <2>.': 'Feld „{1}“ <2>.',
  'Field "{1}": attribute "{2}" <3>.': 'Feld „{1}“: Wert „{2}“ <3>.',
  'Query parameter "{1}" <2>.': 'Parameter „{1}“ <2>.',
  'Argument "{1}" is required.': 'Angabe „{1}“ fehlt.',
  'Argument "{1}" <2>.': 'Angabe „{1}“ <2>.',
  'Parameter "{1}" <2>.': 'Parameter „{1}“ <2>.',
  'Unknown argument "{1}"; the command takes none.': 'Der Befehl kennt keine Angaben, auch nicht „{1}“.',
  'Unknown argument "{1}"; the command takes: {2}.': 'Der Befehl kennt die Angabe „{1}“ nicht, sondern: {2}.',
  'Unknown parameter "{1}"; the group has: {2}.': 'Den Parameter „{1}“ gibt es nicht; es gibt: {2}.',
  'Configuration group "{1}" has no parameter "{2}".': 'Die Gruppe „{1}“ hat keinen Parameter „{2}“.',
  'Parameter "{1}" cannot be set and reset in one request.':
    'Parameter „{1}“ kann nicht zugleich gesetzt und zurückgesetzt werden.',
  'The address has {1} in place of a secret: enter it whole.':
    'Die Adresse hat {1} an der Stelle eines Geheimnisses: Geben Sie sie ganz ein.',
  'is required': 'fehlt',
  'is required and cannot be null': 'darf nicht fehlen',
  'is larger than {1} bytes': 'ist größer als {1} Bytes',
  'is too long': 'ist zu lang',
  'must not be empty': 'darf nicht leer sein',
  'has too many levels': 'hat zu viele Ebenen',
  'an integer from -9223372036854775808 to 9223372036854775807':
    'eine ganze Zahl von -9223372036854775808 bis 9223372036854775807',
  'a number from -1.7976931348623157e308 to 1.7976931348623157e308':
    'eine Zahl von -1.7976931348623157e308 bis 1.7976931348623157e308',
  'must be <1>, got <2>': 'muss <1> sein, nicht <2>',
  'at most {1}': 'höchstens {1}',
  'at least {1}': 'mindestens {1}',
  string: 'Text',
  integer: 'eine ganze Zahl',
  float: 'eine Kommazahl',
  number: 'eine Zahl',
  boolean: 'ja oder nein',
  array: 'eine Liste',
  Array: 'eine Liste',
  object: 'ein Objekt',
  Object: 'ein Objekt',
  null: 'leer',
  'an object': 'ein Objekt',
  'an array of strings': 'eine Liste von Texten',
  'an array of alert names': 'eine Liste von Meldungen',
  'a JSON value': 'JSON',
  'a number too large': 'eine zu große Zahl',
  'must be one of: {1}': 'muss eines davon sein: {1}',
  'must be of: {1}': 'muss aus diesen sein: {1}',
  'must be an object': 'muss ein Objekt sein',
  'must be at least {1}': 'muss mindestens {1} sein',
  'must be at most {1}': 'darf höchstens {1} sein',
  'must be from -{1} to {2}': 'muss zwischen −{1} und {2} liegen',
  'must be a list': 'muss eine Liste sein',
  'must be a whole number': 'muss eine ganze Zahl sein',
  'must be a time such as 03:15': 'muss eine Uhrzeit wie 03:15 sein',
  'must be one line': 'muss in einer Zeile stehen',
  'must be a duration from {1} to {2}': 'muss eine Dauer von {1} bis {2} sein',
  'must be a mail address': 'muss eine E-Mail-Adresse sein',
  'must be a host name or an address': 'muss ein Rechnername oder eine Adresse sein',
  'must be base64': 'muss Base64 sein',
  'must be base64 of UTF-8 text': 'muss Base64 von Text in UTF-8 sein',
  'must be a script of at most {1} bytes': 'muss ein Skript von höchstens {1} Bytes sein',
  'must be certificates in PEM': 'müssen Zertifikate in PEM sein',
  'must be 8 to 64 letters or digits': 'muss 8 bis 64 Buchstaben oder Ziffern haben',
  'must be 1 to 64 letters, digits, - or _, begin with a letter or digit, and be no UUID':
    'muss 1 bis 64 Buchstaben, Ziffern, - oder _ haben, mit einem Buchstaben oder einer Ziffer beginnen und darf keine UUID sein',
  'must be an address that begins with http:// or https://, without a name, password or #':
    'muss eine Adresse sein, die mit http:// oder https:// beginnt, ohne Benutzername, Passwort oder #',
  'must be an address that begins with http:// or https://, without a login in it':
    'muss eine Adresse sein, die mit http:// oder https:// beginnt, ohne Anmeldung darin',
  'must be mqtt:// or mqtts:// with a host and no login in it':
    'muss mqtt:// oder mqtts:// mit einem Rechnernamen sein, ohne Anmeldung darin',
  'must be tcp://host:port, or port:// and the name of a serial port':
    'muss tcp://rechner:port sein, oder port:// und der Name eines seriellen Anschlusses',
  'must be a device file such as /dev/ttyUSB0, or a serial server such as socket://192.168.1.30:4001':
    'muss eine Gerätedatei wie /dev/ttyUSB0 sein, oder ein serieller Server wie socket://192.168.1.30:4001',
  '{1}:// needs a host, and a port from 1 to 65535':
    '{1}:// braucht einen Rechner und einen Port von 1 bis 65535',
  'the address {1} has leading zeros: write its numbers without them':
    'die Adresse {1} hat führende Nullen; die Zahlen ohne sie schreiben',
  'must be a name or a device file': 'muss ein Name oder eine Gerätedatei sein',
  'must be what the kind needs: can0, /dev/gpiochip0, or /sys/bus/iio/devices/iio:device0/in_voltage0':
    'muss zur Art passen: can0, /dev/gpiochip0 oder /sys/bus/iio/devices/iio:device0/in_voltage0',
  'must be a folder such as /media/stick, of letters, digits and . _ ~ -, without . or .. in its path':
    'muss ein Ordner wie /media/stick sein, aus Buchstaben, Ziffern und . _ ~ -, ohne . oder .. im Pfad',
  'must be a folder such as /media/backup, sftp://user@host/folder, or https://host/folder of a WebDAV server; of letters, digits and . _ ~ -':
    'muss ein Ordner wie /media/backup, sftp://benutzer@rechner/ordner oder https://rechner/ordner eines WebDAV-Servers sein, aus Buchstaben, Ziffern und . _ ~ -',
  'must be {1}, an object with only the keys {2}, or a list of these':
    'muss {1} sein, ein Objekt, das nur {2} hat, oder eine Liste davon',
  'must be an id, or an object with only the keys {1}': 'muss eine ID sein oder ein Objekt, das nur {1} hat',
  'must not have . or .. in its path': 'darf kein . oder .. im Pfad haben',
  'must not have leading zeros in its address': 'darf keine führenden Nullen in der Adresse haben',
  'must not leave /dev': 'muss unter /dev bleiben',
  'must not begin with #: engines pass over such lines':
    'darf nicht mit # beginnen: Datenbanken überspringen solche Zeilen',
  'must not hold +, # or control characters': 'darf kein +, # oder Steuerzeichen enthalten',
  'must not hold /, +, # or control characters': 'darf kein /, +, # oder Steuerzeichen enthalten',
  'must not contain control, invisible or unassigned characters such as U+{1}':
    'darf keine unsichtbaren Zeichen wie U+{1} enthalten',
  'must not have more than {1} items': 'darf höchstens {1} Einträge haben',
  'must not name more than {1} attributes': 'darf höchstens {1} Werte nennen',
  'must name at least one device': 'muss mindestens ein Gerät nennen',
  'must have {1}': 'muss {1} haben',
  'must have at least {1} characters': 'muss mindestens {1} Zeichen haben',
  'must have at most {1} characters': 'darf höchstens {1} Zeichen haben',
  'must have at most 255 characters': 'darf höchstens 255 Zeichen haben',
  'must have at most {1} items': 'darf höchstens {1} Einträge haben',
  'must have at most {1} devices': 'darf höchstens {1} Geräte haben',
  'must have at most {1} addresses': 'darf höchstens {1} Adressen haben',
  'must have at least one address': 'muss mindestens eine Adresse haben',
  'must have at least one item': 'muss mindestens einen Eintrag haben',
  'must have no control characters': 'darf keine Steuerzeichen haben',
  'must have 1 to 64 letters, digits, dots, hyphens, underscores or @':
    'muss 1 bis 64 Buchstaben, Ziffern, Punkte, Bindestriche, Unterstriche oder @ haben',
  'must have 12 to 128 printable ASCII characters': 'muss 12 bis 128 druckbare ASCII-Zeichen haben',
  'must have 1 to 64 letters, digits, - or _': 'muss 1 bis 64 Buchstaben, Ziffern, - oder _ haben',
  'must have 1 to 64 letters, digits, hyphens and underscores':
    'muss 1 bis 64 Buchstaben, Ziffern, - oder _ haben',
  'must have 1 to {1} letters, digits and signs': 'muss 1 bis {1} Buchstaben, Ziffern und Zeichen haben',
  'must have only the keys: {1}': 'darf nur {1} haben',
  'must have a script or a rule_id': 'muss ein Skript oder eine rule_id haben',
  'is needed for inputs and outputs': 'ist für Ein- und Ausgänge nötig',
  'is not declared by device "{1}"': 'ist beim Gerät „{1}“ nicht bekannt',
  'is of type {1}, it must be a number': 'ist vom Typ {1} und müsste eine Zahl sein',
  'is in {1}, it must be in {2}, k{3} or M{4}': 'ist in {1} und müsste in {2}, k{3} oder M{4} sein',
  'does not match its JSON schema: <1>': 'passt nicht zu seinem JSON-Schema: <1>',
  'no value is allowed': 'kein Wert ist erlaubt',
  'does not match its schema': 'passt nicht dazu',
  'its schema cannot be applied: {1}': 'sein Schema ist nicht anwendbar: {1}',
  'Field "{1}.power" must name an attribute unless "energy_forward" does.':
    'Feld „{1}.power“ muss einen Wert nennen, wenn „energy_forward“ keinen nennt.',
  'Field "currency" is needed with the first tariff.': 'Feld „currency“ ist beim ersten Tarif nötig.',
  'Field "{1}.valid_from": another tariff begins on this day.':
    'Feld „{1}.valid_from“: An diesem Tag beginnt schon ein anderer Tarif.',
  'Field "{1}" is needed with kind {2}.': 'Feld „{1}“ ist bei der Art {2} nötig.',
  'Field "{1}.low_times" must have weekdays, times or both, such as {2}.':
    'Feld „{1}.low_times“ muss Wochentage, Uhrzeiten oder beides haben, etwa {2}.',
  'must be three letters such as EUR': 'muss aus drei Buchstaben bestehen, etwa EUR',
  'must be a day such as 2026-01-01': 'muss ein Tag wie 2026-01-01 sein',
  'Field "networks" has more than {1} addresses: search smaller networks one after the other.':
    'Feld „networks“ hat mehr als {1} Adressen. Durchsuchen Sie kleinere Netze nacheinander.',
  'Field "networks" has "{1}": must be such as 192.168.1.0/24.':
    'Feld „networks“ enthält „{1}“, muss aber aussehen wie 192.168.1.0/24.',
  'Field "{1}" has "{2}": must be part of a network of the gateway: {3}.':
    'Feld „{1}“ enthält „{2}“, muss aber in einem Netz des Gateways liegen: {3}.',
  'Field "{1}" has "{2}": must be a number such as 192.168.1.20.':
    'Feld „{1}“ enthält „{2}“, muss aber eine Nummer wie 192.168.1.20 sein.',
  'Field "url" must be an address such as http://192.168.1.20/status.':
    'Die Adresse muss wie http://192.168.1.20/status lauten.',
  'Field "url" must be without user and password.':
    'Die Adresse darf weder Benutzer noch Passwort enthalten.',
  'Field "to" must be later than "from".': 'Das Ende muss nach dem Anfang liegen.',
  'Field "from" must be earlier than "to", and in the past.':
    'Der Anfang muss vor dem Ende und in der Vergangenheit liegen.',
  'Field "to" must be at most {1} later than "from".': 'Das Ende darf höchstens {1} nach dem Anfang liegen.',
  'Field "expires_at" must be within {1} hours from now.':
    'Die Frist muss innerhalb der nächsten {1} Stunden enden.',
  'The body must be a JSON object.': 'Der Inhalt muss ein JSON-Objekt sein.',
  'The body must have a script or a rule_id.': 'Es fehlt ein Skript oder eine Regel.',
  'The body ends too early, at line {1}, column {2}.': 'Der Inhalt endet zu früh, in Zeile {1}, Spalte {2}.',
  'The body is not JSON at line {1}, column {2}.': 'Der Inhalt ist kein JSON, in Zeile {1}, Spalte {2}.',
  'The body is not UTF-8.': 'Der Inhalt ist kein UTF-8.',
  'The template must be a text in UTF-8.': 'Die Vorlage muss ein Text in UTF-8 sein.',
  'The body ends before its end.': 'Der Inhalt kam nicht vollständig an.',
  'The body nests deeper than {1} arrays and objects.': 'Der Inhalt ist tiefer als {1} Ebenen verschachtelt.',
  'The body is larger than {1} bytes.': 'Der Inhalt ist größer als {1} Bytes.',
  'The upload is larger than {1} bytes.': 'Die Datei ist größer als {1} Bytes.',
  'The form has no file in field "{1}".': 'Im Feld „{1}“ fehlt eine Datei.',
  'The multipart form is broken: {1}.': 'Das Formular kam beschädigt an: {1}.',
  'A line of the CSV text is too long.': 'Eine Zeile der CSV-Datei ist zu lang.',
  'The CSV text is not UTF-8.': 'Die CSV-Datei ist kein UTF-8.',
  'Device {1} has no telemetry "{2}".': 'Das Gerät {1} hat keinen Wert „{2}“.',
  'A channel keeps its kind; make another one.': 'Die Art eines Kanals bleibt. Legen Sie einen anderen an.',
  'A channel of kind {1} has no "{2}".': 'Ein Kanal der Art {1} hat kein „{2}“.',
  'A channel of kind EMAIL needs "email" with "host", "from" and "to".':
    'Ein Kanal für E-Mail braucht Server, Absender und Empfänger.',
  'A channel of kind WEBHOOK needs "webhook" with "url".': 'Ein Webhook braucht eine Adresse.',
  'A channel of kind NTFY needs "ntfy" with "topic".': 'Ein Kanal für ntfy braucht ein Thema.',
  'A channel names {1} devices at most.': 'Ein Kanal nennt höchstens {1} Geräte.',
};
