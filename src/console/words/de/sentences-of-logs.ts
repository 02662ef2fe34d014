/**
 * What the gateway and its programs write into the logs of devices and rules, and of commands that failed, as
 * `sentences.ts` has sentences: whole ones alone, because all else there is of devices and scripts.
 */
export const ofLogs: Readonly<Record<string, string>> = {
  '<1> Further faults are not listed for a while.': '<1> Weitere Fehler stehen eine Weile nicht hier.',
  'Messages come too fast: some at QoS 0 are dropped.':
    'Nachrichten kommen zu schnell: Einige mit QoS 0 werden verworfen.',
  'Messages on channel "{1}" are dropped: no device has it.':
    'Nachrichten auf Kanal „{1}“ werden verworfen: Kein Gerät hat ihn.',
  'A message for modules came from a device that is none and was dropped.':
    'Eine Nachricht für Module kam von einem Gerät, das keines ist, und wurde verworfen.',
  'A message has more than {1} properties.': 'Eine Nachricht hat mehr als {1} Eigenschaften.',
  'The name of a property is too long.': 'Der Name einer Eigenschaft ist zu lang.',
  'Property "{1}" has a number that is not finite; it was dropped.':
    'Eigenschaft „{1}“ hat eine unendliche Zahl und wurde verworfen.',
  'Property "{1}" <2>; it was dropped.': 'Eigenschaft „{1}“ <2> und wurde verworfen.',
  'Property "{1}" has more than {2} bytes.': 'Eigenschaft „{1}“ hat mehr als {2} Bytes.',
  'The device has more than {1} properties.': 'Das Gerät hat mehr als {1} Eigenschaften.',
  'The properties of the device have more than {1} bytes together.':
    'Die Eigenschaften des Geräts haben zusammen mehr als {1} Bytes.',
  'Telemetry "{1}": <2>': 'Messwert „{1}“: <2>',
  'The value <1>.': 'Der Wert <1>.',
  'The value must be of type <1>, not <2>.': 'Der Wert muss <1> sein, nicht <2>.',
  'The value has more than {1} bytes.': 'Der Wert hat mehr als {1} Bytes.',
  'The value {1} is not in the declared enum.': 'Der Wert {1} gehört nicht zu den vorgesehenen.',
  'The number is not finite.': 'Die Zahl ist nicht endlich.',
  'The integer does not fit into 64 bits.': 'Die ganze Zahl passt nicht in 64 Bit.',
  'The array has more than {1} items.': 'Die Liste hat mehr als {1} Einträge.',
  'A message <1> and was dropped.': 'Eine Nachricht <1> und wurde verworfen.',
  'is empty': 'ist leer',
  'is not UTF-8': 'ist kein UTF-8',
  'is not JSON ({1})': 'ist kein JSON ({1})',
  'is not a JSON object': 'ist kein JSON-Objekt',
  'has more than {1} values': 'hat mehr als {1} Werte',
  'has more than {1} levels': 'hat mehr als {1} Ebenen',
  'has a key of more than {1} characters': 'hat einen Namen von mehr als {1} Zeichen',
  'Telemetry older than 7 days was dropped.': 'Messwerte, die älter als 7 Tage waren, wurden verworfen.',
  'The clock of the device is more than 60 s ahead; the time of receipt is used.':
    'Die Uhr des Geräts geht mehr als 60 s vor; es gilt die Zeit des Empfangs.',
  'The timestamp is not a number of seconds or milliseconds; the time of receipt is used.':
    'Der Zeitstempel ist keine Zahl von Sekunden oder Millisekunden; es gilt die Zeit des Empfangs.',
  'Connections with the client id "{1}" keep ending each other: give each client of this device a client id of its own.':
    'Verbindungen mit der Client-ID „{1}“ beenden einander immer wieder: Geben Sie jedem Client dieses Geräts eine eigene Client-ID.',
  'The blueprint does not declare telemetry "{1}".': 'Der Blueprint kennt den Messwert „{1}“ nicht.',
  'The message has more than {1} attributes; the rest was dropped.':
    'Die Nachricht hat mehr als {1} Werte; der Rest wurde verworfen.',
  '{1} log entries were dropped, because there were too many':
    '{1} Protokolleinträge wurden verworfen, weil es zu viele waren',
  '{1} log entries were lost: too much was waiting for the gateway':
    '{1} Protokolleinträge gingen verloren: Es wartete zu viel auf das Gateway',
  'The clock of the board of this module is right again.': 'Die Uhr dieses Moduls geht wieder richtig.',
  "The clock of the board of this module is {1} s ahead of the gateway's. Values get the time at which the gateway receives them; set the clock, or let a time service do it.":
    'Die Uhr dieses Moduls geht gegenüber dem Gateway {1} s vor. Werte bekommen die Zeit ihres Empfangs. Stellen Sie die Uhr, oder richten Sie einen Zeitdienst ein.',
  "The clock of the board of this module is {1} s behind the gateway's. Values get the time at which the gateway receives them; set the clock, or let a time service do it.":
    'Die Uhr dieses Moduls geht gegenüber dem Gateway {1} s nach. Werte bekommen die Zeit ihres Empfangs. Stellen Sie die Uhr, oder richten Sie einen Zeitdienst ein.',
  'the facts about the blueprint cannot be read': 'die Angaben zum Blueprint sind nicht lesbar',
  '{1}.lua:{2}: {3} has no "{4}", did you mean "{5}"?': '{1}.lua:{2}: {3} hat kein „{4}“; meinen Sie „{5}“?',
  '{1}.lua:{2}: {3} has no "{4}".': '{1}.lua:{2}: {3} hat kein „{4}“.',
  '{1}.lua:{2}: Nothing is called "{3}", did you mean "{4}"?':
    '{1}.lua:{2}: Nichts heißt „{3}“; meinen Sie „{4}“?',
  '{1}.lua:{2}: Nothing is called "{3}".': '{1}.lua:{2}: Nichts heißt „{3}“.',
  '{1}.lua:{2}: Arguments of {3}: {4} expected, {5} given.':
    '{1}.lua:{2}: Argumente von {3}: {4} erwartet, {5} angegeben.',
  '{1}.lua:{2}: {3} is of runtime {4}; this rule has runtime {5}.':
    '{1}.lua:{2}: {3} gehört zur Laufzeitumgebung {4}; diese Regel hat {5}.',
  '{1} times since {2}: <3>': '{1}-mal seit {2}: <3>',
  'takes too much processor time and pauses again and again':
    'braucht zu viel Rechenzeit und pausiert immer wieder',
  'takes too much processor time and pauses again and again, now for {1} ms':
    'braucht zu viel Rechenzeit und pausiert immer wieder, jetzt für {1} ms',
  'rule started': 'Regel gestartet',
  'rule stopped': 'Regel angehalten',
  'rule finished': 'Regel beendet',
  'rule restarts in {1} s': 'Regel startet in {1} s neu',
  'execution time exceeded: {1}, the rule was ended':
    'Rechenzeit überschritten: {1}; die Regel wurde beendet',
  'its thread was ended soon after its start: {1}': 'ihr Thread wurde bald nach dem Start beendet: {1}',
  'rule starts again, because its thread was ended: {1}':
    'Regel startet neu, weil ihr Thread beendet wurde: {1}',
  'notify "{1}" was refused: no notification channel takes messages of severity {2}':
    'notify „{1}“ wurde abgelehnt: Kein Benachrichtigungskanal nimmt Nachrichten der Stufe {2} an',
  'notify "{1}" was refused: {2}': 'notify „{1}“ wurde abgelehnt: {2}',
  'the script is too large to be started': 'das Skript ist zu groß, um gestartet zu werden',
  'the rule engine ended and is started again':
    'der Teil, der Regeln ausführt, endete und wird neu gestartet',
  'on_online_changed of device "{1}" waits in vain: the device was deleted':
    'on_online_changed des Geräts „{1}“ wartet vergeblich: Das Gerät wurde gelöscht',
  'on_update of "{1}" of device "{2}" waits in vain: its blueprint has no such attribute now':
    'on_update von „{1}“ des Geräts „{2}“ wartet vergeblich: Sein Blueprint kennt den Wert nicht mehr',
  'on_update of "{1}" of device "{2}" goes on: its blueprint has the attribute':
    'on_update von „{1}“ des Geräts „{2}“ geht weiter: Sein Blueprint kennt den Wert',
  'on_update of "{1}" of device "{2}" waits in vain: the device was deleted':
    'on_update von „{1}“ des Geräts „{2}“ wartet vergeblich: Das Gerät wurde gelöscht',

  // Sentences about commands.
  'The device did not answer within {1} s.': 'Das Gerät hat nicht innerhalb von {1} s geantwortet.',
  'The gateway was stopped before the device answered.':
    'Das Gateway wurde beendet, bevor das Gerät geantwortet hat.',
  'The communication module was started again before the command ended.':
    'Das Kommunikationsmodul startete neu, bevor der Befehl zu Ende war.',
  'The device was deleted.': 'Das Gerät wurde gelöscht.',
  'The request was not sent to the device.': 'Der Befehl wurde nicht an das Gerät gesendet.',
  'Sending the request failed; it is not known whether the device has received it.':
    'Das Senden ist gescheitert; ob das Gerät den Befehl bekommen hat, ist nicht bekannt.',
  'script is not running': 'Das Skript des Geräts läuft nicht.',
  'the script ended before the command did': 'Das Skript des Geräts endete vor dem Befehl.',
  'too many commands are waiting': 'Es warten zu viele Befehle.',
  'command handler not implemented': 'Das Skript des Geräts kennt diesen Befehl nicht.',
  'execution time exceeded': 'Die Rechenzeit des Skripts ist überschritten.',
  'The payload of {1} bytes was too large and was left out.':
    'Die Antwort von {1} Bytes war zu groß und fehlt deshalb.',
};
