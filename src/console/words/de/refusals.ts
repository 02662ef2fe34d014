/**
 * What the gateway refuses, by the code of its answer (docs/errors.md). In German. A code is missing where only the
 * gateway's own sentence says what was wrong, as with a field of a request (`BY_SENTENCE`).
 */
import type { Problem } from '../../shapes.ts';
import { inGerman } from './translate.ts';

type Sentence = (problem: Problem) => string;

const most =
  (what: string): Sentence =>
  ({ details }) =>
    `Mehr als ${String(details?.['limit'])} ${what} sind nicht möglich.`;
const text =
  (sentence: string): Sentence =>
  () =>
    sentence;
/** The gateway's own sentence tells the reason. */
const because =
  (sentence: string): Sentence =>
  ({ message }) =>
    `${sentence} (${inGerman(message)})`;
/** The gateway's own sentence, where it is known, tells all of it. */
const orElse =
  (sentence: string): Sentence =>
  ({ message }) => {
    const said = inGerman(message);
    return said === message ? `${sentence} (${said})` : said;
  };

export const refusals: ReadonlyMap<string, Sentence> = new Map([
  ['access_denied', text('Die Anmeldedaten stimmen nicht oder gelten nicht mehr.')],
  ['aggregation_not_supported', text('Diese Zusammenfassung passt nicht zur Art des Werts.')],
  ['alert_not_found', text('Diese Meldung gibt es nicht mehr.')],
  ['already_accepted', text('Daraus ist schon ein Gerät geworden.')],
  ['already_claimed', text('Das Gateway wurde schon übernommen. Melden Sie sich an.')],
  ['already_exists', ({ details }) => `„${String(details?.['value'])}“ ist schon vergeben.`],
  ['announced_device_not_found', text('Dieses Gerät hat seine Ankündigung zurückgenommen.')],
  ['backup_in_progress', text('Es wird gerade eine andere Sicherung erstellt.')],
  ['backup_plan_incomplete', text('Der Sicherung fehlt noch ein Ziel oder ein Passwort.')],
  ['backup_refused', because('Die Sicherung kann nicht wiederhergestellt werden.')],
  ['blueprint_built_in', text('Dieser Blueprint gehört zum Gateway und bleibt.')],
  ['blueprint_in_use', text('Geräte haben diesen Blueprint. Weisen Sie ihnen zuerst einen anderen zu.')],
  ['blueprint_not_found', text('Diesen Blueprint gibt es nicht mehr.')],
  ['command_not_found', text('Der Blueprint des Geräts kennt diesen Befehl nicht.')],
  [
    'config_generation_not_supported',
    text('Dieses Gerät hat keine eigene Verbindung, die einzurichten wäre.'),
  ],
  ['configuration_group_not_found', text('Der Blueprint des Geräts kennt diese Einstellungen nicht.')],
  ['data_folder_unreadable', because('Der Datenordner ist nicht lesbar.')],
  ['device_has_dependents', text('Auf diesem Gerät laufen andere. Löschen Sie zuerst diese.')],
  ['device_limit_reached', most('Geräte')],
  ['device_not_deletable', text('Dieses Gerät gehört zum Gateway und kann nicht gelöscht werden.')],
  ['device_not_found', text('Dieses Gerät gibt es nicht mehr.')],
  [
    'device_not_traceable',
    text(
      'Dieses Gerät läuft auf keinem Kommunikationsmodul. Nur was Skripte mit Geräten austauschen, wird mitgeschnitten.',
    ),
  ],
  ['device_offline', text('Das Gerät ist nicht erreichbar. Es wurde nichts gesendet.')],
  [
    'disk_full',
    text('Der Datenträger ist voll: Messwerte werden nicht gespeichert, nur noch Einstellungen und Befehle.'),
  ],
  ['document_limit_reached', because('Es gibt so viele Unterlagen, wie es sein dürfen.')],
  ['document_not_found', text('Diese Unterlage gibt es nicht mehr.')],
  ['dry_run_active', text('Es läuft schon ein Probelauf. Möglich ist einer zur selben Zeit.')],
  ['execution_not_found', text('Diesen Befehl gibt es nicht mehr.')],
  ['history_degraded', because('Der Verlauf nimmt keine Daten auf. Die Steuerung läuft weiter.')],
  [
    'in_rehearsal',
    text(
      'Dieses Gateway ist die Probe einer Sicherung. Es sendet nichts, bis ein Betreiber die Probe beendet.',
    ),
  ],
  ['insufficient_role', text('Ihre Rolle reicht dafür nicht.')],
  ['internal_error', text('Das Gateway konnte dies nicht ausführen. Sein Protokoll nennt den Grund.')],
  [
    'invalid_document',
    text('Eine Unterlage muss ein Foto (JPEG, PNG, WebP), ein PDF oder ein einfacher Text in UTF-8 sein.'),
  ],
  ['invalid_path', text('Die Adresse der Anfrage ist ungültig.')],
  ['invalid_header', text('Der Anfrage fehlt die Anmeldung oder eine andere Angabe.')],
  [
    'invalid_runtime',
    text('Dieses Gerät kann keine Skripte ausführen. Wählen Sie ein Kommunikationsmodul oder das Gateway.'),
  ],
  ['io_port_limit_reached', most('Anschlüsse')],
  ['io_port_not_found', text('Diesen Anschluss gibt es nicht mehr.')],
  ['last_installer', text('Das ist der letzte Installateur. Das Gateway würde niemandem gehören.')],
  ['method_not_allowed', text('Das ist hier nicht möglich.')],
  ['mqtt_guest_limit_reached', most('MQTT-Zugänge')],
  ['mqtt_guest_not_found', text('Diesen MQTT-Zugang gibt es nicht mehr.')],
  ['no_rehearsal', text('Dieses Gateway ist keine Probe einer Sicherung.')],
  [
    'no_room',
    text('Für eine Sicherung mit Verlauf ist zu wenig Speicherplatz frei. Ohne Verlauf braucht sie wenig.'),
  ],
  ['nothing_announced', text('Dieses Gerät kündigt nichts an, was das Gateway verwenden kann.')],
  ['unsupported_media_type', text('Der Inhalt ist gepackt oder nicht in UTF-8.')],
  ['notification_delivery_not_found', text('Diese Zustellung gibt es nicht (mehr).')],
  ['output_not_found', text('Dies wird von keiner Regel gesetzt.')],
  ['audit_entry_not_found', text('Diesen Eintrag gibt es nicht (mehr).')],
  ['not_acceptable', text('Diese Art von Antwort gibt es hier nicht.')],
  ['not_available_on_gateway', text('Das gibt es auf diesem Gateway nicht, oder es ist ausgeschaltet.')],
  ['notification_channel_limit_reached', most('Kanäle')],
  ['notification_channel_not_found', text('Diesen Kanal gibt es nicht mehr.')],
  [
    'payload_too_large',
    ({ details }) => `Das ist zu groß. Möglich sind höchstens ${String(details?.['limit'])} Bytes.`,
  ],
  ['profile_built_in', text('Dieses Geräteprofil gehört zum Gateway und ist unverändert.')],
  ['profile_in_use', text('Ein anderes Geräteprofil baut auf diesem auf. Entfernen Sie zuerst jenes.')],
  ['profile_not_found', text('Dieses Geräteprofil gibt es nicht mehr.')],
  ['program_not_running', because('Ein Teil des Gateways läuft nicht.')],
  ['query_too_large', text('Das ist zu viel auf einmal. Wählen Sie eine kürzere Zeit oder weniger Werte.')],
  ['request_expired', text('Der Befehl kam nach seiner Frist an. Es wurde nichts ausgeführt.')],
  [
    'request_retained',
    text('Der Befehl war eine aufbewahrte Nachricht (retain). Es wurde nichts ausgeführt.'),
  ],
  ['request_timeout', text('Die Anfrage kam nicht rechtzeitig vollständig an.')],
  ['route_not_found', text('Das gibt es hier nicht. Laden Sie die Seite neu.')],
  ['rule_limit_reached', most('Regeln')],
  ['rule_not_found', text('Diese Regel gibt es nicht mehr.')],
  ['rule_sandbox_off', text('Regeln sind auf diesem Gateway ausgeschaltet.')],
  ['rule_version_not_found', text('Diese Fassung der Regel ist nicht mehr da.')],
  ['rule_broken', text('Das Skript lässt sich nicht kompilieren; das Protokoll der Regel sagt, warum.')],
  ['rule_disabled', text('Die Regel ist ausgeschaltet. Schalten Sie sie zuerst ein.')],
  ['rule_engine_suspended', text('Alle Regeln sind angehalten. Lassen Sie sie zuerst wieder laufen.')],
  ['rule_running', text('Die Regel läuft gerade. Versuchen Sie es erneut, wenn sie fertig ist.')],
  [
    'rule_without_functions',
    text('Die Regel hat nichts auszuführen: Sie wartet auf Ereignisse, die noch nicht kamen.'),
  ],
  ['rule_without_strategy', text('Diese Regel hat ein eigenes Skript und keine Parameter.')],
  ['runtime_full', most('Geräte an diesem Modul')],
  [
    'trace_limit_reached',
    text(
      'Es wird schon an so vielen Geräten mitgeschnitten, wie möglich ist. Beenden Sie zuerst einen Mitschnitt.',
    ),
  ],
  ['trace_not_found', text('An diesem Gerät wurde nichts mitgeschnitten, das sich abspielen lässt.')],
  ['scan_active', text('Hier wird schon gesucht. Versuchen Sie es, wenn diese Suche zu Ende ist.')],
  ['serial_port_limit_reached', most('Anschlüsse')],
  ['serial_port_not_found', text('Diesen Anschluss gibt es nicht mehr.')],
  [
    'serial_port_of_option',
    text('Dieser Anschluss steht in der Option serial_ports. Nehmen Sie ihn dort heraus.'),
  ],
  ['site_not_found', text('Diese Anlage gibt es hier nicht.')],
  ['starting', text('Das Gateway startet oder wird beendet.')],
  ['state_degraded', because('Befehle und Änderungen werden abgelehnt.')],
  ['strategy_not_found', text('Diese Strategie gibt es nicht.')],
  ['target_limit_reached', most('Ziele')],
  ['target_not_found', text('Dieses Ziel gibt es nicht mehr.')],
  ['telemetrypersistence/NO_TELEMETRY_ATTRIBUTES_FOUND', text('Keinen dieser Werte gibt es.')],
  ['template_limit_reached', most('Gerätevorlagen')],
  ['template_not_found', text('Diese Gerätevorlage gibt es nicht mehr.')],
  ['token_limit_reached', most('Zugriffstoken')],
  ['token_not_found', text('Dieses Zugriffstoken gibt es nicht mehr.')],
  ['too_many_requests', text('Das waren zu viele Anfragen. Versuchen Sie es etwas später noch einmal.')],
  ['unavailable', orElse('Das Gateway kann dies gerade nicht ausführen.')],
  [
    'unknown_origin',
    ({ details }) =>
      `Das Gateway kennt die Adresse ${String(details?.['origin'])} nicht; setzen Sie public_host auf ihren Namen, oder trusted_proxies auf die Adresse des Proxys.`,
  ],
  ['update_in_progress', text('Es wird gerade eine Version hochgeladen oder installiert.')],
  ['update_refused', because('Das Update wurde abgelehnt.')],
  ['user_limit_reached', most('Benutzer')],
  ['user_not_found', text('Diesen Benutzer gibt es nicht mehr.')],
]);

/** Codes whose sentence alone tells what was wrong: that of the gateway, of a script, or of the author of a blueprint. */
export const BY_SENTENCE = [
  'configuration_refused',
  'invalid_blueprint',
  'invalid_body',
  'invalid_command_arguments',
  'invalid_configuration',
  'invalid_profiles',
  'invalid_query',
  'invalid_strategy_parameters',
  'invalid_template',
];
