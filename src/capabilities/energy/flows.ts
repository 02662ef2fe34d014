/**
 * Which source fed which use in one interval. This cannot be measured; it is an assumption, which answers state:
 * sources in the order of `ORIGINS` serve uses in the order of `ORDER`. So the sun serves the consumption, then the
 * battery, then the grid; the battery serves the rest of the consumption, then the grid; the grid serves what is left. The grid
 * or the battery feeds itself only if an interval leaves no other way.
 */
import { type FlowMatrix, ORIGINS, type Origin, type Reading, type Use, USES } from './model.ts';

export const ASSUMPTION =
  'Decided for every minute by itself: the sun and then generators serve consumption first, then the battery, then ' +
  'the grid; the battery serves consumption before the grid; the grid serves what is left. What sources deliver ' +
  'beyond all uses is losses; what uses take beyond all sources is unmeasured.';

const CONSUMPTION = ['load', 'electrolyser', 'ev_charger', 'heat_pump'] as const satisfies Use[];

const ORDER: Readonly<Record<Origin, readonly Use[]>> = {
  pv: [...CONSUMPTION, 'battery', 'grid', 'losses'],
  generator: [...CONSUMPTION, 'battery', 'grid', 'losses'],
  battery: [...CONSUMPTION, 'grid', 'losses', 'battery'],
  grid: [...CONSUMPTION, 'battery', 'losses', 'grid'],
  unmeasured: [...CONSUMPTION, 'battery', 'grid', 'losses'],
};

/** The same as column numbers by row, for speed: a year has half a million intervals. */
const COLUMNS = ORIGINS.map((origin) => ORDER[origin].map((use) => USES.indexOf(use)));

/** Adds the flows of one interval to `into` and returns them; rows sum up to the sources, columns to the uses. */
export function addFlows(reading: Reading, into: FlowMatrix): FlowMatrix {
  const { from, to } = balance(reading);
  const flows = new Float64Array(into.length);
  for (let row = 0; row < COLUMNS.length; row++) {
    let left = from[row] as number;
    for (const column of COLUMNS[row] as readonly number[]) {
      if (!(left > 0)) break;
      const amount = Math.min(left, to[column] as number);
      if (!(amount > 0)) continue;
      flows[row * USES.length + column] = amount;
      left -= amount;
      to[column] = (to[column] as number) - amount;
    }
  }
  for (const circle of CIRCLES) avoidSelfFeeding(flows, circle);
  for (let index = 0; index < flows.length; index++)
    into[index] = (into[index] as number) + (flows[index] as number);
  return flows;
}

/** Both sides of the interval, balanced by `unmeasured` and `losses`; in the orders of `ORIGINS` and `USES`. */
function balance(reading: Reading): { from: number[]; to: number[] } {
  const { electrolyser, evCharger, heatPump, charge, export: exported, consumption } = reading;
  const supplied = reading.pv + reading.generator + reading.discharge + reading.import;
  const named = electrolyser + evCharger + heatPump;
  const load = Math.max(0, (consumption ?? supplied - charge - exported) - named);
  const used = load + named + charge + exported;
  return {
    from: [reading.pv, reading.generator, reading.discharge, reading.import, Math.max(0, used - supplied)],
    to: [load, electrolyser, evCharger, heatPump, charge, exported, Math.max(0, supplied - used)],
  };
}

interface Circle {
  /** Its row and its column. */
  own: number;
  ownUse: number;
}

const CIRCLES = (['grid', 'battery'] as const).map((itself): Circle => ({
  own: ORIGINS.indexOf(itself),
  ownUse: USES.indexOf(itself),
}));

const at = (row: number, column: number): number => row * USES.length + column;

/** Replaces flows from something to itself by flows from and to others, as far as there are any. */
function avoidSelfFeeding(flows: FlowMatrix, { own, ownUse }: Circle): void {
  const circle = at(own, ownUse);
  if (!((flows[circle] as number) > 0)) return;
  for (let row = 0; row < ORIGINS.length; row++)
    for (let column = 0; column < USES.length && (flows[circle] as number) > 0; column++) {
      if (row === own || column === ownUse) continue;
      const moved = Math.min(flows[circle] as number, flows[at(row, column)] as number);
      flows[circle] = (flows[circle] as number) - moved;
      flows[at(row, column)] = (flows[at(row, column)] as number) - moved;
      flows[at(row, ownUse)] = (flows[at(row, ownUse)] as number) + moved;
      flows[at(own, column)] = (flows[at(own, column)] as number) + moved;
    }
}

export const emptyFlows = (): FlowMatrix => new Float64Array(ORIGINS.length * USES.length);
