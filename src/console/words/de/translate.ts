/** Sentences of the gateway in German, read back from their text; what others said stays as it is. */
import { sentences } from './sentences.ts';
import { ofLogs } from './sentences-of-logs.ts';

/** No sentence of the gateway is longer, and the time to read one grows faster than its length. */
const LENGTH_MAX = 1_000;
const HOLE = /\{\d\}|<\d>/g;

interface Reader {
  text: RegExp;
  german: string;
  /** A sentence without words of its own only has its parts. */
  isBare: boolean;
  letters: number;
}

const readersOf = (table: typeof sentences): readonly Reader[] =>
  Object.entries(table)
    .map(([english, german]) => {
      const literals = english.split(HOLE);
      const own = literals.join('');
      const isBare = !/\p{L}/u.test(own);
      // A server, file or program at the beginning is one word.
      const first = english.startsWith('{') && !isBare ? String.raw`(\S+)` : '(.*?)';
      const rest = literals
        .slice(1)
        .map((literal, index) => (index === 0 ? first : '(.*?)') + escaped(literal));
      return {
        text: new RegExp(`^${escaped(literals[0] ?? '')}${rest.join('')}$`, 's'),
        german,
        isBare,
        letters: own.length,
      };
    })
    .sort((one, other) => other.letters - one.letters);

const READERS = readersOf(sentences);
const LOG_READERS = readersOf(ofLogs);

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** Undefined: it is none of the gateway's. */
function known(text: string, readers = READERS): string | undefined {
  if (text.length > LENGTH_MAX) return undefined;
  for (const { text: pattern, german, isBare } of readers) {
    const found = pattern.exec(text);
    if (!found) continue;
    let isKnown = !isBare;
    const filled = german.replaceAll(HOLE, (hole) => {
      const own = found[Number(hole[1])] ?? '';
      const said = hole.startsWith('<') ? (known(own) ?? known(own, LOG_READERS)) : undefined;
      isKnown ||= said !== undefined;
      return said ?? own;
    });
    if (isKnown) return filled;
  }
  return undefined;
}

/** Between reasons of several targets, each after its name. */
const NEXT = /(?<=[.?"]) (?=[^.?"]+: )/;
const NAMED = /^(.+?: )(.*)$/s;

function named(text: string): string {
  const [, name = '', reason = ''] = NAMED.exec(text) ?? [];
  const said = known(reason);
  return said === undefined ? text : name + said;
}

export const inGerman = (text: string): string =>
  known(text) ??
  text
    .split(NEXT)
    .map((part) => known(part) ?? named(part))
    .join(' ');

/** Words for the log of a device or rule, where most entries are not the gateway's own. */
export const logInGerman = (text: string): string => known(text, LOG_READERS) ?? text;
