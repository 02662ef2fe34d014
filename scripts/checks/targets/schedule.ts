/** What happens when, in seconds of the workload, by a seed. */
import type { Random } from '../../support/random.ts';
import type { Absence } from './programs.ts';

export type Happening =
  | { kind: 'gone'; server: string; absence: Absence; seconds: number }
  | { kind: 'back'; server: string }
  | { kind: 'gateway-kill' | 'gateway-stop' | 'power-cut' };

export type Scheduled = Happening & { atS: number };

const DAY_QUARTER_S = 21_600;
const ABSENCES: readonly Absence[] = ['kill', 'end', 'freeze'];
/** No event comes before the first samples, and the last samples follow the last event. */
const BEGIN_SHARE = 0.02;
const END_SHARE = 0.92;
const GATEWAY_FAULTS: readonly (Happening & { kind: 'gateway-kill' | 'gateway-stop' | 'power-cut' })[] = [
  { kind: 'gateway-kill' },
  { kind: 'power-cut' },
  { kind: 'gateway-kill' },
  { kind: 'power-cut' },
  { kind: 'gateway-stop' },
  { kind: 'gateway-kill' },
  { kind: 'power-cut' },
];

/**
 * Every server is away once for six hours, or a quarter of a shorter run, and some times for minutes and for seconds. Of
 * the faults of the gateway as many happen as there is a minute for each, at random moments.
 */
export function scheduleOf(options: {
  seconds: number;
  servers: readonly string[];
  hasPowerCuts: boolean;
  random: Random;
}): Scheduled[] {
  const { seconds, servers, random } = options;
  const faults = GATEWAY_FAULTS.filter(({ kind }) => options.hasPowerCuts || kind !== 'power-cut');
  const count = Math.max(2, Math.min(faults.length, Math.floor(seconds / 60)));
  const moments = faults
    .slice(0, count)
    .map((fault) => ({ ...fault, atS: random.integer(seconds * BEGIN_SHARE, seconds * END_SHARE) }));
  return [...servers.flatMap((server) => absencesOf(server, seconds, random)), ...moments].sort(
    (a, b) => a.atS - b.atS,
  );
}

/** One after the other, with gaps by chance. */
function absencesOf(server: string, seconds: number, random: Random): Scheduled[] {
  const lengths = [
    Math.min(DAY_QUARTER_S, seconds / 4),
    ...[1, 2].map(() => Math.min(seconds / 20, random.between(120, 600))),
    ...[1, 2, 3].map(() => Math.min(seconds / 60, random.between(5, 50))),
  ].map((length) => Math.max(1, Math.round(length)));
  const order = lengths.map((length) => ({ length, rank: random.next() })).sort((a, b) => a.rank - b.rank);
  const free = seconds * (END_SHARE - BEGIN_SHARE) - lengths.reduce((sum, length) => sum + length, 0);
  const marks = order.map(() => random.between(0, free)).sort((a, b) => a - b);
  let passedS = seconds * BEGIN_SHARE;
  return order.flatMap(({ length }, index): Scheduled[] => {
    const atS = Math.floor(passedS + (marks[index] ?? 0));
    passedS += length;
    return [
      { kind: 'gone', server, absence: random.pick(ABSENCES), seconds: length, atS },
      { kind: 'back', server, atS: atS + length },
    ];
  });
}
