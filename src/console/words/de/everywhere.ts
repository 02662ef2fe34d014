/** Words that stand in many places. In German. */
import type { Words } from '../en.ts';

export const everywhere: Words['everywhere'] = {
  history: 'Verlauf',
  name: 'Name',
  password: 'Passwort',
  cancel: 'Abbrechen',
  required: 'erforderlich',
  secretKept: 'Eines ist gespeichert; leer: es bleibt.',
  secretHidden: 'Wird danach nicht mehr angezeigt.',
  loading: 'Wird geladen …',
  copy: 'Kopieren',
  copied: 'Kopiert',
};
