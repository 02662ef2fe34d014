/**
 * Lines and fields of a CSV text, of this gateway or of a spreadsheet: with a byte order mark, in UTF-16, with semicolons or
 * tabs between fields, a comma before decimals, and empty columns at the end.
 */
import { invalidBody } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { type EpochS, parseTimestampMs } from '../../lib/time.ts';

/** A line of our own answers is shorter, also with a thousand columns of long texts. */
const LINE_MAX = 4 * 1_048_576;
const SEPARATOR_LINE = /^"?sep=([,;\t])"?\r?$/;
const HEAD = /^"?ts"?([,;\t])/;
const FIELDS: Readonly<Record<string, RegExp>> = {
  ',': /(?:"((?:[^"]|"")*)"|([^",][^,]*)?)(?:,|$)/y,
  ';': /(?:"((?:[^"]|"")*)"|([^";][^;]*)?)(?:;|$)/y,
  '\t': /(?:"((?:[^"]|"")*)"|([^"\t][^\t]*)?)(?:\t|$)/y,
};

export interface CsvLine {
  fields: string[];
  number: number;
  /** Characters of the line. */
  length: number;
  /** When the separator is no comma, a comma in a number may separate its decimals. */
  hasDecimalCommas: boolean;
}

/** @throws GatewayError invalid_body */
export async function* csvLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<CsvLine> {
  let number = 0;
  let separator: string | undefined;
  for await (const text of linesOf(chunks)) {
    number++;
    const declared = separator === undefined ? SEPARATOR_LINE.exec(text)?.[1] : undefined;
    if (declared !== undefined) {
      separator = declared;
      continue;
    }
    separator ??= HEAD.exec(text)?.[1] ?? ',';
    const fields = fieldsOf(text, number, separator);
    // A spreadsheet ends with rows of nothing.
    if (number > 1 && fields.every((field) => field === '')) continue;
    yield { fields, number, length: text.length, hasDecimalCommas: separator !== ',' };
  }
}

export function wrongLine(line: number, fault: string): Error {
  return invalidBody(`line ${line}`, `Line ${line} ${fault}.`);
}

/** The moment of a row: Unix seconds, also as a float without a fraction, or RFC 3339. @throws GatewayError invalid_body for others, and after 2100 */
export function timeOf(text: string, line: number): EpochS {
  const seconds = /^\d{1,10}(?:\.0+)?$/.test(text)
    ? Number(text)
    : Math.floor((parseTimestampMs(text) ?? -1) / 1_000);
  if (seconds >= 0 && seconds < LIMITS.telemetry.timeEndS) return seconds;
  throw wrongLine(
    line,
    `has the time "${text.slice(0, 40)}", which is not Unix seconds before 2100 or 2026-03-01T08:00:00Z. If a spreadsheet has ` +
      'rewritten it, give the column the format of a whole number, or of text',
  );
}

/** The number as JSON has it. @throws GatewayError invalid_body where a comma may stand before decimals or thousands */
export function numberText(cell: string, { number, hasDecimalCommas }: CsvLine): string {
  if (!cell.includes(',')) return cell;
  if (hasDecimalCommas && /^[-+]?\d+,\d+(?:[eE][-+]?\d+)?$/.test(cell)) return cell.replace(',', '.');
  throw wrongLine(
    number,
    `has the number "${cell.slice(0, 40)}". Write decimals with a point and no mark between thousands`,
  );
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  let start = Buffer.alloc(0);
  let rest = '';
  for await (const chunk of chunks) {
    start = decoder ? Buffer.from(chunk) : Buffer.concat([start, chunk]);
    if (!decoder && start.length < 2) continue;
    rest += decoded((decoder ??= decoderOf(start)), start);
    let from = 0;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', from)) {
      yield rest.slice(from, end);
      from = end + 1;
    }
    rest = rest.slice(from);
    if (rest.length > LINE_MAX) throw invalidBody('', 'A line of the CSV text is too long.');
  }
  rest += decoder ? decoded(decoder) : decoded(decoderOf(start), start);
  if (rest !== '') yield rest;
}

/** Chosen by the byte order mark; UTF-8 without one. */
function decoderOf([first, second]: Uint8Array): TextDecoder {
  const name =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(name, { fatal: true });
}

/** Without bytes: what is left at the end. @throws GatewayError invalid_body */
function decoded(decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (error) {
    throw invalidBody('', 'The CSV text is not UTF-8. Save it as "CSV UTF-8".', error);
  }
}

/** Fields of one line; quoted ones have their quotes doubled inside (RFC 4180), and end where they began: on this line. */
function fieldsOf(line: string, number: number, separator: string): string[] {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  if (!text.includes('"')) return text.split(separator);
  const fields: string[] = [];
  const field = new RegExp(FIELDS[separator] ?? /$/y);
  while (field.lastIndex <= text.length) {
    const match = field.exec(text);
    if (!match) throw wrongLine(number, 'has a field with a quotation mark that does not end the field');
    fields.push(match[1] === undefined ? (match[2] ?? '') : match[1].replaceAll('""', '"'));
    if (!match[0].endsWith(separator)) break;
  }
  return fields;
}
