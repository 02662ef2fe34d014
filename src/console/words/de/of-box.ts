/** The manifests of the box and its module in German: names of values, and what to do about alerts. */
import type { en } from '../en.ts';

export const ofBox: typeof en.ofBox = {
  properties: {
    vendor: { display_name: 'Hersteller' },
    model: { display_name: 'Modell' },
    serial_number: { display_name: 'Seriennummer' },
    version: { display_name: 'Softwareversion' },
    hostname: { display_name: 'Rechnername' },
    operating_system: { display_name: 'Betriebssystem' },
    processor_architecture: { display_name: 'Prozessorarchitektur' },
    processor_count: { display_name: 'Prozessorkerne' },
    memory_total_bytes: { display_name: 'Arbeitsspeicher, gesamt' },
    disk_total_bytes: { display_name: 'Datenträger, gesamt' },
    history_max_bytes: { display_name: 'Verlauf, höchste Größe' },
    telemetry_sample_days: { display_name: 'Einzelwerte bleiben' },
    telemetry_minute_days: { display_name: 'Minutenwerte bleiben' },
    telemetry_quarter_days: { display_name: 'Viertelstundenwerte bleiben' },
    virtual: { display_name: 'Nur Software' },
    lua_api_ver: { display_name: 'Version der Lua-Schnittstelle' },
  },
  telemetry: {
    status: {
      display_name: 'Status',
      enum_with_metainfo: { 0: { display_name: 'OK' }, 1: { display_name: 'Eingeschränkt' } },
    },
    uptime_s: { display_name: 'Läuft seit' },
    cpu_load_percent: { display_name: 'Prozessorlast' },
    memory_used_percent: { display_name: 'Arbeitsspeicher belegt' },
    memory_used_bytes: { display_name: 'Arbeitsspeicher belegt' },
    process_memory_bytes: { display_name: 'Speicher des Gateway-Prozesses' },
    event_loop_delay_ms: { display_name: 'Verzögerung der Ereignisschleife' },
    disk_used_percent: { display_name: 'Datenträger belegt' },
    disk_free_bytes: { display_name: 'Datenträger frei' },
    history_size_bytes: { display_name: 'Größe des Verlaufs' },
    history_days_left: { display_name: 'Verlauf, Platz reicht noch' },
    history_damaged_parts: { display_name: 'Verlauf, unlesbare Teile' },
    state_size_bytes: { display_name: 'Größe des Zustands' },
    broker_sessions: { display_name: 'Sitzungen am Broker' },
    devices_online: { display_name: 'Geräte online' },
    telemetry_values_per_second: { display_name: 'Messwerte je Sekunde' },
    targets_lag_s: { display_name: 'Ziele, Rückstand' },
    targets_lag_samples: { display_name: 'Ziele, wartende Messwerte' },
    targets_lag_records: { display_name: 'Ziele, wartende Einträge' },
    cpu_temperature: { display_name: 'Prozessortemperatur' },
    flash_written_bytes_per_day: { display_name: 'Am Tag auf den Datenträger geschrieben' },
    last_backup_age_h: { display_name: 'Alter der letzten guten Sicherung' },
    scripts_running: { display_name: 'Laufende Skripte' },
    scripts_failed: { display_name: 'Gescheiterte Skripte' },
    ports_failed: { display_name: 'Gestörte Anschlüsse' },
  },
  alerts: {
    disk_almost_full: {
      display_name: 'Datenträger fast voll',
      description:
        'Weniger als ein Zehntel des Datenträgers ist frei. Ist nichts mehr frei, werden keine Messwerte mehr gespeichert.',
      troubleshooting: {
        0: 'Dateien löschen, die nicht zum Gateway gehören.',
        1: 'Messwerte kürzer aufbewahren.',
        2: 'Einen größeren Datenträger einsetzen und eine Sicherung zurückspielen.',
      },
    },
    disk_full: {
      display_name: 'Datenträger voll',
      description:
        'Gespeichert wird nur noch, was die Steuerung braucht; dafür war Platz freigehalten. Messwerte werden nicht gespeichert.',
      troubleshooting: {
        0: 'Dateien löschen, die nicht zum Gateway gehören; binnen Sekunden geht alles von selbst weiter.',
        1: 'Messwerte kürzer aufbewahren.',
      },
    },
    data_folder_unreadable: {
      display_name: 'Datenordner nicht lesbar',
      description:
        'Der Datenträger oder das System lässt das Gateway seinen Datenordner nicht lesen. Was über den Platz darin zu sehen ist, ist der letzte bekannte Stand.',
      troubleshooting: {
        0: 'Den Datenträger prüfen; die Einzelheiten der Meldung sagen, was er antwortet. Alles geht von selbst weiter, sobald er wieder lesbar ist.',
        1: 'Dateien und Ordner dem Benutzer des Gateways zurückgeben oder Verbindungen schließen, wenn die Einzelheiten das sagen.',
        2: 'Den Datenträger ersetzen, wenn es wieder vorkommt, und die letzte Sicherung zurückspielen.',
      },
    },
    state_recovered: {
      display_name: 'Zustand wiederhergestellt',
      description:
        'Die Datenbank der Geräte, Regeln und Nutzer war beschädigt oder fehlte. Was lesbar war, blieb; der Rest kam aus der neuesten guten Kopie.',
      troubleshooting: {
        0: 'Die Einzelheiten der Meldung oder state-recovery.json im Datenordner lesen: Dort steht, was aus welcher Kopie kam.',
        1: 'Dort noch einmal ändern, was nach der Kopie geändert wurde, vor allem widerrufene Token und gelöschte Nutzer.',
        2: 'Den Datenträger ersetzen, wenn es wieder vorkommt.',
      },
    },
    changes_lost: {
      display_name: 'Änderungen fehlen möglicherweise',
      description:
        'Die letzten Änderungen vor einem Halt waren auf dem Datenträger beschädigt oder fehlten. Die Einzelheiten der Meldung nennen die Datei und den Zeitraum, aus dem Änderungen fehlen können.',
      troubleshooting: {
        0: 'Prüfen, was in dieser Zeit geändert wurde: bei state.db Nutzer, Token, Regeln und Konfiguration, bei history.db Protokolle und Messwerte.',
        1: 'Den Datenträger ersetzen, wenn es wieder vorkommt.',
      },
    },
    rehearsal: {
      display_name: 'Probe einer Sicherung',
      description:
        'Dieses Gateway ist eine wiederhergestellte Kopie und sendet nichts: keine Weiterleitung, Regeln, Befehle, Benachrichtigungen und Sicherungen nach Plan, und sein eigenes Kommunikationsmodul läuft nicht. Das Original darf unterdessen weiterlaufen.',
      troubleshooting: {
        0: 'Damit dieses Gateway an die Stelle des Originals tritt, die Probe beenden, unter System → Sicherungen oder mit „energy-gateway end-rehearsal“. Vorher das Original ausschalten.',
      },
    },
    restore_not_done: {
      display_name: 'Sicherung nicht zurückgespielt',
      description:
        'Der Datenträger ließ nicht zu, dass der Start eine Sicherung übernimmt. Das Gateway arbeitet mit allem weiter, wie es vorher war; der Inhalt der Sicherung bleibt im Datenordner.',
      troubleshooting: {
        0: 'Beheben, was die Einzelheiten der Meldung nennen, und die Sicherung noch einmal zurückspielen.',
        1: 'Den Datenträger ersetzen, wenn er es wieder ablehnt.',
      },
    },
    state_degraded: {
      display_name: 'Zustand wird nicht gespeichert',
      description:
        'Der Datenträger nimmt nicht an, was vor jeder Handlung gespeichert werden muss: Befehle, auch die von Regeln, und Änderungen werden abgelehnt. Was Geräte messen, ist weiter zu sehen.',
      troubleshooting: {
        0: 'Den Datenträger prüfen; die Einzelheiten der Meldung sagen, was er antwortet. Alles geht von selbst weiter, sobald er wieder Daten annimmt.',
        1: 'Den Datenträger ersetzen, wenn es wieder vorkommt, und die letzte Sicherung zurückspielen.',
      },
    },
    state_copies_failing: {
      display_name: 'Kopien des Zustands schlagen fehl',
      description:
        'Das Gateway kann die stündliche Kopie seiner Datenbank mit Geräten, Regeln und Benutzern nicht anlegen, mit der es Schäden von selbst behebt. Alles arbeitet.',
      troubleshooting: {
        0: 'Den Ordner „backups“ im Datenordner so einrichten, dass der Benutzer des Gateways hineinschreiben darf.',
        1: 'Das Protokoll des Dienstes lesen: Es nennt den Grund.',
      },
    },
    tls_off: {
      display_name: 'TLS ist aus',
      description:
        'Die Schlüssel dieses Gateways sind nicht zu gebrauchen; über HTTPS und MQTT mit TLS ist nichts zu erreichen. Alles andere arbeitet.',
      troubleshooting: {
        0: 'Das Protokoll des Dienstes lesen: Es nennt die Datei.',
        1: 'Eine Sicherung zurückspielen oder die Datei in Ordnung bringen; das Gateway startet dann binnen fünf Minuten von selbst neu.',
        2: 'Den Datenträger ersetzen, wenn es wieder vorkommt.',
      },
    },
    certificate_unusable: {
      display_name: 'Zertifikat ist nicht zu gebrauchen',
      description:
        'Die Dateien von tls_certificate und tls_private_key sind nicht zu gebrauchen; die Einzelheiten nennen den Grund. HTTPS hat das zuletzt gelesene Zertifikat oder ein hier erstelltes.',
      troubleshooting: {
        0: 'Die Dateien ersetzen; sie werden binnen fünf Minuten neu gelesen.',
      },
    },
    certificate_expiring: {
      display_name: 'Zertifikat läuft ab',
      description:
        'Das Zertifikat von tls_certificate ist abgelaufen oder läuft binnen 14 Tagen ab. Browser und Programme weisen ein abgelaufenes zurück.',
      troubleshooting: {
        0: 'Ein erneuertes Zertifikat mit seiner Kette an seine Stelle legen; es wird binnen fünf Minuten neu gelesen.',
        1: 'Nachsehen, warum es nicht von selbst erneuert wurde, wenn ein Programm das tun sollte.',
      },
    },
    history_degraded: {
      display_name: 'Verlauf wird nicht gespeichert',
      description:
        'Messwerte und Protokolle können zurzeit nicht gespeichert werden. Die Steuerung der Geräte betrifft das nicht.',
      troubleshooting: {
        0: 'Platz auf dem Datenträger schaffen; das Speichern geht ohne Neustart weiter.',
        1: 'Liegt es nicht am Platz, den Datenträger auf Fehler prüfen.',
      },
    },
    history_damaged: {
      display_name: 'Verlauf beschädigt',
      description:
        'Teile der Messwerte oder Protokolle waren nicht lesbar. Die beschädigten Dateien liegen beiseite im Datenordner; was davon lesbar war, ist weiter zu sehen.',
      troubleshooting: {
        0: 'Im Protokoll des Dienstes nachsehen, was verloren ist.',
        1: 'Den Datenträger ersetzen, wenn es wieder vorkommt.',
        2: 'Um diese Meldung zu beenden, die genannten Dateien wegbewegen oder mit „energy-gateway remove-set-aside“ entfernen.',
      },
    },
    history_missing: {
      display_name: 'Verlauf fehlt',
      description:
        'Dateien mit Messwerten und Protokollen waren beim Start des Gateways weg. Neue wurden begonnen; was in den anderen stand, ist nicht mehr da.',
      troubleshooting: {
        0: 'Klären, wer die genannten Dateien entfernt hat. Bei gestopptem Gateway lassen sie sich zurücklegen.',
        1: 'War es niemand, den Datenträger auf Fehler prüfen.',
        2: 'Diese Meldung endet nach einer Woche oder mit „energy-gateway remove-set-aside history-missing.json“.',
      },
    },
    history_shortened: {
      display_name: 'Verlauf vorzeitig gekürzt',
      description:
        'Für den Verlauf ist kein Platz mehr; sein Ältestes wird vor der Zeit entfernt. Das Gerät oder die Regel mit dem meisten verliert zuerst.',
      troubleshooting: {
        0: 'Nach einem Gerät suchen, das mehr protokolliert oder sendet, als es soll.',
        1: 'history_max_mib erhöhen, wenn der Datenträger Platz hat, oder Dateien löschen, die nicht zum Gateway gehören.',
        2: 'Einzelwerte weniger Tage aufbewahren.',
      },
    },
    history_of_other_site: {
      display_name: 'Verlauf einer anderen Anlage oder Version',
      description:
        'Der Verlauf im Datenordner gehört zu einer anderen Anlage oder wurde von einer neueren Version des Gateways geschrieben (history.db.of-schema-…). Er liegt beiseite und kommt wieder, wenn der Zustand jener Anlage zurückgespielt oder jene Version installiert wird; was inzwischen geschrieben wurde, kommt dann beiseite.',
      troubleshooting: {
        0: 'Den Zustand jener Anlage zurückspielen, wenn er aus Versehen verloren ging, oder die neuere Version wieder installieren.',
        1: 'Werden die genannten Dateien nicht gebraucht, sie mit „energy-gateway remove-set-aside“ entfernen.',
      },
    },
    history_of_unknown_devices: {
      display_name: 'Verlauf unbekannter Geräte',
      description:
        'Es gibt Messwerte von Geräten, die nicht bekannt sind, wie nach dem Zurückspielen einer älteren Sicherung. Sie bleiben 30 Tage Laufzeit und gehören wieder dem Gerät, sobald es bekannt ist.',
      troubleshooting: {
        0: 'Fehlen Geräte, die neueste Sicherung zurückspielen.',
        1: 'Sonst ist nichts zu tun; die Daten werden nach 30 Tagen gelöscht.',
      },
    },
    backup_overdue: {
      display_name: 'Sicherung überfällig',
      description:
        'Länger als der Plan der Sicherungen zulässt, gab es keine gute Sicherung; die Einzelheiten sagen, warum.',
      troubleshooting: {
        0: 'Den letzten Fehler beim Plan der Sicherungen lesen und sein Ziel in Ordnung bringen, etwa einen fehlenden Stick.',
        1: 'Den Plan von Hand ausführen, um zu sehen, ob es wieder geht.',
      },
    },
    target_failing: {
      display_name: 'Ein Ziel nimmt keine Messwerte an',
      description:
        'Ein Dienst andernorts nimmt die Messwerte zurzeit nicht an. Sie bleiben, soweit der Verlauf zurückreicht, und werden gesendet, sobald er sie wieder annimmt.',
      troubleshooting: {
        0: 'Die Einzelheiten sagen, was der Dienst geantwortet hat.',
        1: 'Das Ziel testen und seine Adresse oder sein Geheimnis berichtigen.',
      },
    },
    target_refusing: {
      display_name: 'Ein Ziel lehnt einen Teil ab',
      description:
        'Ein Dienst andernorts nimmt an, was er bekommt, bis auf einen Teil, den er nicht will. Der wird nicht noch einmal gesendet. Die Meldung endet eine Stunde nach dem Letzten davon.',
      troubleshooting: {
        0: 'Die Einzelheiten sagen, was der Dienst geantwortet hat. Meist hat ein Name dort einen anderen Typ, etwa Text, wo er Zahlen kennt.',
        1: 'Den Wert aus der Auswahl des Ziels nehmen oder den Dienst damit neu beginnen lassen.',
      },
    },
    target_commands_failing: {
      display_name: 'Keine Befehle von einem Ziel',
      description:
        'Zu einem Broker, von dem Befehle kommen dürfen, besteht keine Verbindung. Was dort inzwischen verlangt wird, bewahrt der Broker auf; ausgeführt wird es nur vor Ablauf seiner Frist.',
      troubleshooting: {
        0: 'Die Einzelheiten sagen, was der Broker geantwortet hat.',
        1: 'Das Ziel testen und seine Adresse, seine Anmeldung oder das Thema berichtigen, das es lesen darf.',
      },
    },
    site_file_not_applied: {
      display_name: 'Anlagendatei nicht angewendet',
      description:
        'Die Datei, die diese Box einrichten soll, konnte nicht oder nur zum Teil angewendet werden. Die Box arbeitet mit dem, was da ist.',
      troubleshooting: {
        0: 'Die Einzelheiten sagen, was falsch ist.',
        1: 'Die Datei in Ordnung bringen und das Gateway neu starten, oder von Hand weitermachen und GATEWAY_PROVISION_FILE aus seinen Optionen nehmen.',
      },
    },
    update_failed: {
      display_name: 'Update fehlgeschlagen',
      description:
        'Die zuletzt installierte Version hat nicht funktioniert. Die vorige läuft wieder, mit ihrem Zustand von vor dem Update.',
      troubleshooting: {
        0: 'Die Einzelheiten sagen, was schiefging.',
        1: 'In Ordnung bringen, was sie nennen, und die Version noch einmal installieren oder auf eine neuere warten; die nächste Installation beendet diese Meldung.',
        2: 'Noch einmal ändern, was geändert wurde, während die gescheiterte Version lief.',
      },
    },
    clock_ahead: {
      display_name: 'Uhr um Jahre voraus',
      description:
        'Die Uhr der Box ist allem, was das Gateway weiß, um Jahre voraus. Messwerte erhalten falsche Zeiten, bis sie richtig gestellt ist; dann rücken die neuesten Werte und alle Einträge an ihre wahre Zeit.',
      troubleshooting: {
        0: 'Die Zeit der Box vergleichen und die Box mit einem Netz verbinden, in dem es einen Zeitserver gibt.',
        1: 'Eine Batterie für die Hardware-Uhr einsetzen. Stimmt die Zeit, ist nichts zu tun.',
      },
    },
    clock_not_set: {
      display_name: 'Uhr nicht gestellt',
      description: 'Die Box kennt die Zeit nicht. Messwerte warten darauf, und Zeitpläne laufen nicht.',
      troubleshooting: {
        0: 'Die Box mit einem Netz verbinden, in dem es einen Zeitserver gibt.',
        1: 'Der Hardware-Uhr eine Batterie einsetzen.',
      },
    },
    service_restarted: {
      display_name: 'Dienst unerwartet neu gestartet',
      description:
        'Ein Teil des Gateways hat in der letzten Stunde von selbst aufgehört und wurde neu gestartet.',
    },
    port_failed: {
      display_name: 'Anschluss gestört',
      description:
        'Ein Anschluss, den ein Skript braucht, lässt sich nicht öffnen, oder sein Adapter wurde abgezogen.',
      troubleshooting: {
        0: 'Nachsehen, ob der Adapter steckt und seine Gerätedatei da ist.',
        1: 'In der Konfiguration eines Geräts an diesem Anschluss die Verbindung prüfen, und das Protokoll des Dienstes lesen.',
      },
    },
  },
  command_groups: { operation: { display_name: 'Betrieb' } },
  commands: {
    reboot: {
      display_name: 'Alle Skripte neu starten',
      description: 'Beendet die Skripte aller Geräte dieses Moduls und startet sie wieder.',
      confirmation: { title: 'Die Skripte aller Geräte neu starten?' },
    },
  },
};
