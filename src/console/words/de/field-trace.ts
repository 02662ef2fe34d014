/** Recording what a device is asked and answers. In German. */
import type { enLater } from '../en-later.ts';

export const fieldTrace: typeof enLater.fieldTrace = {
  trace: 'Mitschnitt am Gerät',
  traceHint:
    'Zeichnet auf, was das Gerät gefragt wird und antwortet, um einen Fehler zu finden. Er endet von selbst. Anmeldungen und Passwörter werden nicht gezeigt.',
  traceStart: '15 Minuten aufzeichnen',
  traceStarting: 'Das Modul hat ihn noch nicht bestätigt.',
  traceRuns: (until, count) => `Zeichnet bis ${until} auf: bisher ${count}.`,
  traceEnded: (at, count) => `Beendet um ${at}: ${count} aufgezeichnet.`,
  traceDropped: (count) => `${count} wurden ausgelassen, weil es zu viele waren.`,
  traceSave: 'Mitschnitt herunterladen',
  traceImage: 'Für den Simulator herunterladen',
  traceTook: (ms) => `${ms} ms`,
};
