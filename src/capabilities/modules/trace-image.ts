/**
 * Image of the answers of a traced device, which `simulate-modbus` plays back and `try-template` reads: the newest
 * value of each register, path or topic. Pure.
 */
import { Buffer } from 'node:buffer';
import type { TracedExchange } from './traces.ts';

/** Functions that read, and where their registers are. Function 23 writes, too. */
const TABLES: Readonly<Record<number, string>> = {
  1: 'coil',
  2: 'discrete',
  3: 'holding',
  4: 'input',
  23: 'holding',
};
const BITS = 2;
/** Words in one line. */
const LINE_WORDS = 8;

/** Unit → table → address → word. */
type Registers = Map<number, Map<string, Map<number, number>>>;

/** YAML, which is a list of images; undefined: nothing was answered that can be played back. */
export function traceImage(name: string, exchanges: readonly TracedExchange[]): string | undefined {
  const registers: Registers = new Map();
  const answers = new Map<string, string>();
  const messages = new Map<string, string>();
  for (const exchange of exchanges) {
    if (exchange.is_cut) continue;
    if (exchange.transport === 'modbus_tcp' || exchange.transport === 'modbus_rtu')
      noteRegisters(registers, exchange);
    else if (exchange.transport === 'http') noteAnswer(answers, exchange);
    else if (exchange.transport === 'mqtt' && exchange.format === 'TEXT' && exchange.received !== undefined)
      messages.set(exchange.address, exchange.received);
  }
  const title = `- name: ${JSON.stringify(`field trace of ${name}`)}\n`;
  const images = [
    registers.size > 0 && `${title}  units:\n${registerLines(registers)}`,
    answers.size > 0 && `${title}  answers:\n${contentLines(answers)}`,
    messages.size > 0 && `${title}  messages:\n${contentLines(messages)}`,
  ].filter((image) => image !== false);
  return images.length === 0 ? undefined : images.join('');
}

function noteRegisters(
  registers: Registers,
  { transport, unit_id: unit = 1, sent, received }: TracedExchange,
): void {
  const question = pduOf(transport, Buffer.from(sent ?? '', 'hex'));
  const whole = Buffer.from(received ?? '', 'hex');
  const echo = Buffer.from(sent ?? '', 'hex');
  // Some adapters receive what they send.
  const hasEcho = transport === 'modbus_rtu' && whole.subarray(0, echo.length).equals(echo);
  const answer = pduOf(transport, hasEcho ? whole.subarray(echo.length) : whole);
  const table = TABLES[question[0] ?? 0];
  if (table === undefined || question.length < 5 || answer[0] !== question[0]) return;
  const start = question.readUInt16BE(1);
  const count = question.readUInt16BE(3);
  const isOfBits = (question[0] ?? 0) <= BITS;
  if (answer.length < 2 + (isOfBits ? Math.ceil(count / 8) : count * 2)) return;
  const words = registers
    .getOrInsertComputed(unit, () => new Map<string, Map<number, number>>())
    .getOrInsertComputed(table, () => new Map<number, number>());
  for (let index = 0; index < count; index += 1) {
    const word = isOfBits
      ? ((answer[2 + (index >> 3)] ?? 0) >> (index & 7)) & 1
      : answer.readUInt16BE(2 + index * 2);
    words.set(start + index, word);
  }
}

/** Function and data, without header and checksum. */
function pduOf(transport: TracedExchange['transport'], frame: Buffer): Buffer {
  return transport === 'modbus_tcp' ? frame.subarray(7) : frame.subarray(1, Math.max(1, frame.length - 2));
}

function noteAnswer(answers: Map<string, string>, { sent = '', received = '' }: TracedExchange): void {
  const [, url = ''] = /^GET (\S+)/.exec(sent) ?? [];
  const at = received.indexOf('\n\n');
  const target = URL.parse(url);
  if (target && received.startsWith('200\n') && at > 0)
    answers.set(`${target.pathname}${target.search}`, received.slice(at + 2));
}

function registerLines(registers: Registers): string {
  const lines: string[] = [];
  for (const [unit, tables] of sorted(registers)) {
    lines.push(`    ${unit}:`);
    for (const [table, words] of tables) {
      lines.push(`      ${table}:`);
      for (const [address, run] of runsOf(words))
        lines.push(`        ${address}: '${run.map(hexOf).join(' ')}'`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Neighbours together, some to a line. */
function runsOf(words: ReadonlyMap<number, number>): [address: number, words: number[]][] {
  const runs: [number, number[]][] = [];
  for (const [address, word] of sorted(words)) {
    const last = runs.at(-1);
    if (last && last[0] + last[1].length === address && last[1].length < LINE_WORDS) last[1].push(word);
    else runs.push([address, [word]]);
  }
  return runs;
}

const sorted = <Value>(map: ReadonlyMap<number, Value>): [number, Value][] =>
  [...map].toSorted(([a], [b]) => a - b);

const hexOf = (word: number): string => word.toString(16).toUpperCase().padStart(4, '0');

/** JSON is YAML; what is no JSON is a text. */
function contentLines(contents: ReadonlyMap<string, string>): string {
  return [...contents]
    .map(
      ([name, content]) =>
        `    ${JSON.stringify(name)}: ${isJson(content) ? flat(content) : JSON.stringify(content)}\n`,
    )
    .join('');
}

const flat = (json: string): string => JSON.stringify(JSON.parse(json));

function isJson(content: string): boolean {
  try {
    JSON.parse(content);
    return true;
  } catch {
    return false;
  }
}
