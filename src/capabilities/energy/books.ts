/** The books of a site: what each role gave and took, minute by minute, and what is not known. */
import type { DurationS, EpochS } from '../../lib/time.ts';
import { type AmountMinutes, CELL } from '../telemetry/index.ts';
import { addFlows, emptyFlows } from './flows.ts';
import type { EnergyRole, EnergySource, FlowMatrix, Reading } from './model.ts';
import { ROLES } from './tables.ts';

/** Books of one stretch of time. */
export interface Book {
  flowsWh: FlowMatrix;
  /** Seconds that each role is known, in the order of `ROLES`; of several devices only those that all of them are. */
  knownS: Float64Array<ArrayBuffer>;
  /** Of these, how many by counters alone. */
  bridgedS: Float64Array<ArrayBuffer>;
}

export const emptyBook = (): Book => ({
  flowsWh: emptyFlows(),
  knownS: new Float64Array(ROLES.length),
  bridgedS: new Float64Array(ROLES.length),
});

export function addBook(into: Book, other: Book): void {
  for (const part of ['flowsWh', 'knownS', 'bridgedS'] as const)
    for (const [index, value] of other[part].entries())
      into[part][index] = (into[part][index] as number) + value;
}

/** Where the numbers of a source stand in each minute; undefined: it has no such attribute. */
export interface SourceColumns {
  source: EnergySource;
  power: { column: number; factor: number } | undefined;
  forward: { column: number; factor: number } | undefined;
  reverse: { column: number; factor: number } | undefined;
}

/** What a role did in one minute. */
interface RoleMinute {
  forwardWh: number;
  reverseWh: number;
  knownS: DurationS;
  bridgedS: DurationS;
}

/** A rounding of seconds is no gap. */
const WHOLE_S = CELL.minuteS - 1e-6;
const TWO_WAY: ReadonlySet<EnergyRole> = new Set(['battery', 'grid']);

/** Adds the minutes to the books that `bookAt` gives for their starts; undefined: not asked for. */
export function keepBooks(
  minutes: AmountMinutes,
  sources: readonly SourceColumns[],
  width: number,
  bookAt: (startS: EpochS) => Book | undefined,
): void {
  for (const [row, startS] of minutes.startsS.entries()) {
    const book = bookAt(startS);
    if (!book) continue;
    const cells = minutes.cells.subarray(row * width * CELL.length, (row + 1) * width * CELL.length);
    const roles = rolesOf(cells, sources);
    for (const [role, minute] of roles) {
      const place = ROLES.indexOf(role);
      book.knownS[place] = (book.knownS[place] as number) + minute.knownS;
      book.bridgedS[place] = (book.bridgedS[place] as number) + minute.bridgedS;
    }
    addFlows(readingOf(roles), book.flowsWh);
  }
}

function rolesOf(cells: Float64Array, sources: readonly SourceColumns[]): Map<EnergyRole, RoleMinute> {
  const roles = new Map<EnergyRole, RoleMinute>();
  for (const columns of sources) {
    const { role } = columns.source;
    const one = minuteOf(cells, columns);
    const known = roles.get(role);
    roles.set(
      role,
      known
        ? {
            forwardWh: known.forwardWh + one.forwardWh,
            reverseWh: known.reverseWh + one.reverseWh,
            knownS: Math.min(known.knownS, one.knownS),
            bridgedS: Math.max(known.bridgedS, one.bridgedS),
          }
        : one,
    );
  }
  return roles;
}

/** By power where it is known for the whole minute, else by the counters where they are, else by what there is of it. */
function minuteOf(cells: Float64Array, { source, power, forward, reverse }: SourceColumns): RoleMinute {
  const number = (part: { column: number } | undefined, place: number): number =>
    part ? (cells[part.column * CELL.length + place] as number) : 0;
  const powerS = number(power, CELL.coveredS);
  // Where one counter is all that there is, it is all that the source does.
  const isOneWay = !TWO_WAY.has(source.role) || (source.power === null && source.energyReverse === null);
  const counterS = Math.min(
    number(forward, CELL.coveredS),
    isOneWay ? CELL.minuteS : number(reverse, CELL.coveredS),
  );
  if (powerS < WHOLE_S && counterS > powerS)
    return {
      forwardWh: number(forward, CELL.above) * (forward?.factor ?? 0),
      reverseWh: number(reverse, CELL.above) * (reverse?.factor ?? 0),
      knownS: counterS,
      bridgedS: counterS,
    };
  const perWh = (power?.factor ?? 0) / 3_600;
  const above = number(power, CELL.above) * perWh;
  const below = number(power, CELL.below) * perWh;
  const [forwardWh, reverseWh] = source.isInverted ? [below, above] : [above, below];
  return { forwardWh, reverseWh, knownS: powerS, bridgedS: 0 };
}

/** Roles that go one way are what is left of them: an inverter that takes a little at night takes nothing away. */
export function readingOf(
  roles: ReadonlyMap<EnergyRole, { forwardWh: number; reverseWh: number; knownS: DurationS }>,
): Reading {
  const net = (role: EnergyRole): number => {
    const { forwardWh = 0, reverseWh = 0 } = roles.get(role) ?? {};
    return Math.max(0, forwardWh - reverseWh);
  };
  const { forwardWh: discharge = 0, reverseWh: charge = 0 } = roles.get('battery') ?? {};
  const { forwardWh: imported = 0, reverseWh: exported = 0 } = roles.get('grid') ?? {};
  const reading = {
    pv: net('pv'),
    generator: net('generator'),
    discharge,
    charge,
    import: imported,
    export: exported,
    electrolyser: net('electrolyser'),
    evCharger: net('ev_charger'),
  };
  const load = roles.get('load');
  if (!load || load.knownS === 0) return { ...reading, consumption: undefined };
  if (load.knownS >= WHOLE_S) return { ...reading, consumption: net('load') };
  // Of a part of the minute the load is not known: it is no less than what is left of the others.
  const rest = reading.pv + reading.generator + discharge + imported - charge - exported;
  return { ...reading, consumption: Math.max(net('load'), rest) };
}
