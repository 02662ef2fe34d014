/** The order of devices, and their rooms. In German. */
import type { enLater } from '../en-later.ts';

export const arranging: typeof enLater.arranging = {
  title: 'Reihenfolge und Räume',
  hint: 'Alle Benutzer sehen die Geräte in dieser Reihenfolge. Ein Raum wird gespeichert, wenn Sie das Feld verlassen.',
  roomHint: 'Wo es zu finden ist. Die Übersicht kann die Geräte nach Räumen zeigen.',
  roomOf: (name) => `Raum von ${name}`,
  up: (name) => `${name} nach oben`,
  down: (name) => `${name} nach unten`,
  placeNow: (name, place, all) => `${name}: Platz ${place} von ${all}.`,
};
