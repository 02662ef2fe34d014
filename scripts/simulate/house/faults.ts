/** Faults at seeded times, and what a strategy's commands were like in them. */
import { createRandom } from '../../support/random.ts';
import type { Sent } from './simulated-gateway.ts';

/** A rule killed for minutes, a gateway killed and back at once, devices without an answer, no values, a wrong clock. */
export const FAULTS = ['kill', 'restart', 'lost device', 'silent values', 'wrong clock'] as const;

export interface PlannedFault {
  kind: (typeof FAULTS)[number];
  beginMs: number;
  endMs: number;
  /** By how much the clock is wrong. */
  offsetMs: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Each kind twice a day, and each once in a simulation of hours. */
const A_DAY = 2;

export function faultsOf(seed: number, startMs: number, durationMs: number): PlannedFault[] {
  const random = createRandom(seed, 40_000);
  const each = Math.max(1, Math.round((A_DAY * durationMs) / DAY_MS));
  const left = Array.from({ length: each }, () => FAULTS).flat();
  const slotMs = durationMs / left.length;
  const slots = left.length;
  return Array.from({ length: slots }, (_, slot) => {
    const [kind] = left.splice(random.integer(0, left.length - 1), 1) as [PlannedFault['kind']];
    // The rest of a slot is for what follows.
    const beginMs = startMs + slotMs * slot + Math.round(random.next() * slotMs * 0.4);
    const lastsMs = kind === 'restart' ? 0 : Math.min(slotMs * 0.4, random.integer(2, 15) * MINUTE_MS);
    const offsetMs = kind === 'wrong clock' ? (random.chance(0.5) ? 60 : -60) * MINUTE_MS : 0;
    return { kind, beginMs, endMs: beginMs + lastsMs, offsetMs };
  });
}

export interface FaultFigures {
  faults: number;
  /** Outputs that had neither the safe command nor one for silence a minute after a kill or the last value. */
  unsafe: number;
  /** Commands in the minute after a fault that neither held before, nor are safe, nor are those of the undisturbed run. */
  jumps: number;
  /** What they were, for people. */
  notes: string[];
}

/** What a run commanded, and each command that is safe. */
export interface Commanded {
  sent: readonly Sent[];
  safe: readonly Omit<Sent, 'atMs'>[];
}

/** @param silent names of commands for silence, beside the safe one */
export function judged(
  plan: readonly PlannedFault[],
  undisturbed: Commanded,
  { sent, safe }: Commanded,
  silent: readonly string[] = [],
): FaultFigures {
  const figures: FaultFigures = { faults: plan.length, unsafe: 0, jumps: 0, notes: [] };
  for (const fault of plan)
    for (const { device, name, value } of safe) {
      const isSafe = (one: Sent | undefined): boolean =>
        !one || silent.includes(one.name) || (one.name === name && one.value === value);
      const note = (what: string, one: Sent): void => {
        const minute = Math.round((one.atMs - fault.beginMs) / MINUTE_MS);
        figures.notes.push(
          `${fault.kind}, ${what} at ${minute} min: ${device} ${one.name} ${one.value ?? ''}`,
        );
      };
      if (fault.kind === 'kill' || fault.kind === 'silent values')
        for (const one of held(sent, device, fault.beginMs + MINUTE_MS, fault.endMs))
          if (!isSafe(one)) {
            figures.unsafe++;
            note('unsafe', one);
          }
      const known = [
        ...held(sent, device, fault.beginMs - KNOWN_MS, fault.beginMs),
        ...held(undisturbed.sent, device, fault.beginMs - MINUTE_MS, fault.endMs + MINUTE_MS),
      ];
      for (const one of held(sent, device, fault.endMs, fault.endMs + MINUTE_MS))
        if (!isSafe(one) && !isLike(one, known, value)) {
          figures.jumps++;
          note('jump', one);
        }
    }
  return figures;
}

/** What it has commanded so shortly before a fault is no jump after it. */
const KNOWN_MS = 15 * MINUTE_MS;
const TOLERANCE = 0.1;

/** Commands of a device that held at some time from one moment to another. */
function held(sent: readonly Sent[], device: string, fromMs: number, toMs: number): Sent[] {
  const own = sent.filter((one) => one.device === device && one.atMs < toMs);
  const first = own.findLastIndex(({ atMs }) => atMs <= fromMs);
  return own.slice(Math.max(0, first));
}

/** One of the known commands, or a number between them and the safe one, or a little beyond. Off counts as zero. */
function isLike({ name, value }: Sent, known: readonly Sent[], safe = 0): boolean {
  const same = known.filter((one) => one.name === name);
  if (value === undefined) return same.length > 0;
  const numbers = [...same.map((one) => one.value ?? 0), safe];
  const slack = TOLERANCE * Math.max(...numbers.map(Math.abs));
  return value >= Math.min(...numbers) - slack && value <= Math.max(...numbers) + slack;
}
