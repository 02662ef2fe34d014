/** Results of a scan in sentences for people. */
import type { ScanEnd, ScanOrder, ScanUnit } from './scans.ts';

/** The result for one unit. @param order the scan */
export function unitSentence(unit: ScanUnit, order: ScanOrder): string {
  const { unit_id: id, outcome, reason, exception_code: code } = unit;
  switch (outcome) {
    case 'answers': {
      const name = nameOf(unit);
      return name === ''
        ? `Unit ${id} answers, and does not say what it is.`
        : `Unit ${id} answers: ${name}.`;
    }
    case 'exception':
      return `Unit ${id} is there, and refuses what it was asked with exception ${code} (${reason}).`;
    case 'silent':
      return reason === undefined
        ? `Unit ${id} does not answer within ${order.timeout_ms} ms.`
        : `Unit ${id} does not answer: what is between says "${reason}".`;
    case 'garbled':
      return reason?.includes('?ids=loose') === true
        ? `Unit ${id} ${reason}.`
        : `What came back from unit ${id} is no valid answer: ${reason}. ${hintOf(order.uri)}`;
    case 'closed':
      return `The connection ends when unit ${id} is asked: ${reason}.`;
  }
}

function hintOf(uri: string): string {
  return isSerialUri(uri)
    ? 'Speed or parity may differ, or two units have the same id.'
    : 'Perhaps something else than Modbus listens there.';
}

/** Whether it is a serial line and no network address. */
export function isSerialUri(uri: string): boolean {
  return !/^tcp:/i.test(uri);
}

/** Why the scan ended. @param uri the scanned address */
export function endSentence({ outcome, reason }: ScanEnd, uri: string): string {
  switch (outcome) {
    case 'complete':
      return 'All units were asked.';
    case 'unreachable':
      return `${uri} cannot be reached: ${reason}.`;
    case 'in_use':
      return `${uri} is in use: ${reason}.`;
    case 'busy':
      return `Another scan of ${uri} goes on.`;
    case 'no_port':
      return `${uri} leads nowhere: ${reason}.`;
    case 'time_limit':
      return 'The scan took too long and was ended; look at fewer units.';
    case 'module_lost':
      return `The module was lost: ${reason}.`;
  }
}

/** What the unit says it is, by SunSpec or else by its identification. */
function nameOf({ sunspec, identification }: ScanUnit): string {
  const ways = [
    [sunspec?.manufacturer, sunspec?.model, sunspec?.serial_number],
    [
      identification?.vendor,
      identification?.model_name ?? identification?.product_name ?? identification?.product_code,
      undefined,
    ],
  ] as const;
  const [maker, model, serial] = ways.find((words) => words.some((word) => word !== undefined)) ?? [];
  const name = [maker, model].filter((word) => word !== undefined).join(' ');
  return serial === undefined ? name : `${name}, serial number ${serial}`;
}
