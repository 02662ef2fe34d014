/** The energy balances of a site: what each role delivered and took, minute by minute, and what is not known. */
import type { DurationS, EpochS } from '../../lib/time.ts';
import { type AmountMinutes, CELL } from '../telemetry/index.ts';
import { addFlows, emptyFlows } from './flows.ts';
import type { EnergyRole, EnergySource, FlowMatrix, Reading } from './model.ts';
import { addTraded, emptyTraded, type TradedWh } from './money.ts';
import { ROLES } from './tables.ts';

/** The balance of one period. */
export interface EnergyBalance {
  flowsWh: FlowMatrix;
  /** Known seconds of each role, in the order of `ROLES`; with several devices the seconds that all of them are known. */
  knownS: Float64Array<ArrayBuffer>;
  /** Known seconds that come from counters alone. */
  bridgedS: Float64Array<ArrayBuffer>;
  /** Values of each role that were left out because nothing at the site can be so large. */
  implausible: Float64Array<ArrayBuffer>;
  /** Energy with a price, from this second on; empty in sums. */
  fromS: EpochS;
  tradedWh: TradedWh;
}

/** Without a time it is for sums of others. */
export const emptyBalance = (fromS: EpochS = 0, toS: EpochS = fromS): EnergyBalance => ({
  fromS,
  tradedWh: emptyTraded(fromS, toS),
  flowsWh: emptyFlows(),
  knownS: new Float64Array(ROLES.length),
  bridgedS: new Float64Array(ROLES.length),
  implausible: new Float64Array(ROLES.length),
});

export function addBalance(into: EnergyBalance, other: EnergyBalance): void {
  for (const part of ['flowsWh', 'knownS', 'bridgedS', 'implausible'] as const)
    for (const [index, value] of other[part].entries())
      into[part][index] = (into[part][index] as number) + value;
}

/** Columns with the numbers of a source; undefined when it has no such attribute. */
export interface SourceColumns {
  source: EnergySource;
  power: { column: number; factor: number } | undefined;
  forward: { column: number; factor: number } | undefined;
  reverse: { column: number; factor: number } | undefined;
}

interface RoleMinute {
  forwardWh: number;
  reverseWh: number;
  knownS: DurationS;
  bridgedS: DurationS;
  implausible: number;
}

/** Tolerates rounding of seconds. */
const WHOLE_S = CELL.minuteS - 1e-6;
const TWO_WAY: ReadonlySet<EnergyRole> = new Set(['battery', 'grid']);

/** Adds the minutes to the balances that `balanceAt` returns for their starts; undefined: the minute is skipped. */
export function addMinutes(
  minutes: AmountMinutes,
  sources: readonly SourceColumns[],
  width: number,
  balanceAt: (startS: EpochS) => EnergyBalance | undefined,
): void {
  // These objects are used again for every minute, because a year has half a million.
  const roles = new Map<EnergyRole, RoleMinute>();
  const parts = sources.map((columns) => {
    const { role } = columns.source;
    const before = roles.get(role);
    const minute = before ?? { forwardWh: 0, reverseWh: 0, knownS: 0, bridgedS: 0, implausible: 0 };
    roles.set(role, minute);
    return { columns, minute, isFirst: before === undefined };
  });
  const places = [...roles].map(([role, minute]) => ({ place: ROLES.indexOf(role), minute }));
  for (let row = 0; row < minutes.startsS.length; row++) {
    const balance = balanceAt(minutes.startsS[row] as EpochS);
    if (!balance) continue;
    const offset = row * width * CELL.length;
    for (const { columns, minute, isFirst } of parts)
      add(minute, minuteOf(minutes.cells, offset, columns), isFirst);
    for (const { place, minute } of places) {
      balance.knownS[place] = (balance.knownS[place] as number) + minute.knownS;
      balance.bridgedS[place] = (balance.bridgedS[place] as number) + minute.bridgedS;
      balance.implausible[place] = (balance.implausible[place] as number) + minute.implausible;
    }
    const flows = addFlows(readingOf(roles), balance.flowsWh);
    addTraded(balance.tradedWh, balance.fromS, flows, minutes.startsS[row] as EpochS);
  }
}

/** Adds a source to its role; the first one replaces the previous minute. */
function add(minute: RoleMinute, one: RoleMinute, isFirst: boolean): void {
  minute.forwardWh = one.forwardWh + (isFirst ? 0 : minute.forwardWh);
  minute.reverseWh = one.reverseWh + (isFirst ? 0 : minute.reverseWh);
  minute.implausible = one.implausible + (isFirst ? 0 : minute.implausible);
  minute.knownS = isFirst ? one.knownS : Math.min(minute.knownS, one.knownS);
  minute.bridgedS = isFirst ? one.bridgedS : Math.max(minute.bridgedS, one.bridgedS);
}

/** One number of a source in the minute whose cells begin at `offset`. */
const numberOf = (
  cells: Float64Array,
  offset: number,
  part: { column: number } | undefined,
  place: number,
): number => (part ? (cells[offset + part.column * CELL.length + place] as number) : 0);

/** Uses the power if it is known for the whole minute, else the counters if they are known longer, else the known part. */
function minuteOf(
  cells: Float64Array,
  offset: number,
  { source, power, forward, reverse }: SourceColumns,
): RoleMinute {
  const powerS = numberOf(cells, offset, power, CELL.coveredS);
  const implausible = [power, forward, reverse].reduce(
    (sum, part) => sum + numberOf(cells, offset, part, CELL.implausible),
    0,
  );
  // A source with a single counter works in one direction only.
  const isOneWay = !TWO_WAY.has(source.role) || (source.power === null && source.energyReverse === null);
  const counterS = Math.min(
    numberOf(cells, offset, forward, CELL.coveredS),
    isOneWay ? CELL.minuteS : numberOf(cells, offset, reverse, CELL.coveredS),
  );
  if (powerS < WHOLE_S && counterS > powerS)
    return {
      forwardWh: numberOf(cells, offset, forward, CELL.above) * (forward?.factor ?? 0),
      reverseWh: numberOf(cells, offset, reverse, CELL.above) * (reverse?.factor ?? 0),
      knownS: counterS,
      bridgedS: counterS,
      implausible,
    };
  const perWh = (power?.factor ?? 0) / 3_600;
  const above = numberOf(cells, offset, power, CELL.above) * perWh;
  const below = numberOf(cells, offset, power, CELL.below) * perWh;
  const [forwardWh, reverseWh] = source.isInverted ? [below, above] : [above, below];
  return { forwardWh, reverseWh, knownS: powerS, bridgedS: 0, implausible };
}

type Roles = ReadonlyMap<EnergyRole, { forwardWh: number; reverseWh: number; knownS: DurationS }>;

/** The net amount of a one-way role: an inverter that consumes a little at night does not count negative. */
function net(roles: Roles, role: EnergyRole): number {
  const minute = roles.get(role);
  return minute ? Math.max(0, minute.forwardWh - minute.reverseWh) : 0;
}

export function readingOf(roles: Roles): Reading {
  const { forwardWh: discharge = 0, reverseWh: charge = 0 } = roles.get('battery') ?? {};
  const { forwardWh: imported = 0, reverseWh: exported = 0 } = roles.get('grid') ?? {};
  const reading = {
    pv: net(roles, 'pv'),
    generator: net(roles, 'generator'),
    discharge,
    charge,
    import: imported,
    export: exported,
    electrolyser: net(roles, 'electrolyser'),
    evCharger: net(roles, 'ev_charger'),
    heatPump: net(roles, 'heat_pump'),
  };
  const load = roles.get('load');
  if (!load || load.knownS === 0) return { ...reading, consumption: undefined };
  if (load.knownS >= WHOLE_S) return { ...reading, consumption: net(roles, 'load') };
  // The load is known for a part of the minute only: it is at least the rest of the balance.
  const rest = reading.pv + reading.generator + discharge + imported - charge - exported;
  return { ...reading, consumption: Math.max(net(roles, 'load'), rest) };
}
