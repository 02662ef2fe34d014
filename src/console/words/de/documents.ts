/** Notes, photos and documents of a device. In German. */
import type { enLater } from '../en-later.ts';

export const documents: typeof enLater.documents = {
  notes: 'Notizen',
  notesLabel: 'Was andere wissen sollten',
  notesHint:
    'Zum Beispiel wo die Sicherung ist, wer das Gerät wartet, was vereinbart wurde. Alle Benutzer können es lesen.',
  noNotes: 'Noch hat niemand etwas notiert.',
  photosAndDocuments: 'Fotos und Unterlagen',
  none: 'Fotos von Typenschild und Verdrahtung und die Anleitung werden hier für den Nächsten aufbewahrt.',
  show: (name) => `${name} zeigen`,
  deleteText: 'Die Datei wird vom Gateway gelöscht. Das lässt sich nicht rückgängig machen.',
  name: 'Name der nächsten Datei',
  nameHint: 'Leer: der Name der Datei.',
  addPhoto: 'Foto hinzufügen …',
  addDocument: 'Unterlage hinzufügen …',
  sending: 'Wird gesendet …',
  notReadable:
    'Dieser Browser kann das Bild nicht lesen. Speichern Sie es als JPEG und versuchen Sie es noch einmal.',
};
