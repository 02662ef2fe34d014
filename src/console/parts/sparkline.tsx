/** The last day of each value as a small line; a click opens its history. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { gatewayNowMs } from '../gateway-time.ts';
import { queryLines } from '../history/query.ts';
import type { Cell } from '../history/series.ts';
import type { EpochS } from '../../lib/time.ts';
import type { LiveDevice } from '../live.ts';
import { useAnswer, useRefresh } from '../ui.tsx';
import { say } from '../words/index.ts';
import { type Scale, scalesOf } from './sparkline-scale.ts';

const LENGTH_S = 86_400;
/** The store has means of past days in these steps, so that no sample of them is read. */
const STEP_S = 900;
const SHORTEST_S = 3_600;
const REFRESH_MS = 300_000;
/** Values of one request; further values of a device have no line. */
const VALUES_MAX = 40;
const [WIDTH, HEIGHT] = [84, 28];

interface LastDay {
  columns: ReadonlyMap<string, readonly Cell[]>;
  /** Starts of the steps. */
  timesS: readonly EpochS[];
  /** The greatest sample of the value that stands out; undefined if there is none. */
  most: number | undefined;
}

const NONE: LastDay = { columns: new Map(), timesS: [], most: undefined };
const Lines = createContext<LastDay>(NONE);

export const useLastDay = (): LastDay => useContext(Lines);

/** @param outstanding the value of which the greatest sample is asked for too */
async function load({ device, manifest }: LiveDevice, outstanding: string | undefined): Promise<LastDay> {
  const names = Object.entries(manifest?.telemetry ?? {})
    .filter(([, { type }]) => type === 'float' || type === 'integer')
    .map(([name]) => name)
    .toSorted((a, b) => Number(b === outstanding) - Number(a === outstanding))
    .slice(0, VALUES_MAX);
  if (names.length === 0) return NONE;
  const toS = Math.ceil(gatewayNowMs() / 1_000 / STEP_S) * STEP_S;
  // A clock that is not set begins in 1970.
  const fromS = Math.max(0, toS - LENGTH_S);
  const wanted = names.map((attribute) => ({
    device: device.id,
    attribute,
    aggregations: attribute === outstanding ? (['auto', 'max'] as const) : (['auto'] as const),
  }));
  const { lines } = await queryLines(wanted, { fromS, toS, stepS: STEP_S });
  const most = lines.most[0]?.filter((value) => typeof value === 'number') ?? [];
  return {
    columns: new Map(names.map((name, index) => [name, lines.mean[index] ?? []])),
    timesS: lines.timesS,
    most: most.length > 0 ? Math.max(...most) : undefined,
  };
}

/** Reads the lines of a device for its children. @param props.outstanding the value that is shown larger than the others */
export function WithSparklines({
  live,
  outstanding,
  children,
}: {
  live: LiveDevice;
  outstanding?: string | undefined;
  children: preact.ComponentChildren;
}) {
  const { answer, refresh } = useAnswer(
    () => load(live, outstanding),
    [live.device.id, live.manifest, outstanding],
  );
  useRefresh(refresh, REFRESH_MS);
  return <Lines.Provider value={answer ?? NONE}>{children}</Lines.Provider>;
}

/** Draws the lines of one card to scales in common. */
export function useScales({ manifest }: LiveDevice, names: readonly string[]): ReadonlyMap<string, Scale> {
  const { columns } = useLastDay();
  return scalesOf(
    names.map((name) => {
      const { unit = '', type } = manifest?.telemetry[name] ?? {};
      return { name, unit: unit ?? '', isInteger: type === 'integer', column: columns.get(name) ?? [] };
    }),
  );
}

interface SparklineProps {
  live: LiveDevice;
  name: string;
  title: string;
  scale: Scale | undefined;
}

export function Sparkline({ live, name, title, scale }: SparklineProps) {
  const column = useLastDay().columns.get(name) ?? [];
  const points = scale === undefined ? '' : pointsOf(column, scale);
  if (points === '') return null;
  return (
    <a
      class="sparkline"
      href={`#/history/day/${encodeURIComponent(`${live.device.id}.${name}`)}`}
      aria-label={say.devices.historyOf(title)}
    >
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
        <polyline points={points} />
      </svg>
    </a>
  );
}

/** Empty for less than an hour, which would be a dot or an upright stroke. */
function pointsOf(column: readonly Cell[], { least, most }: Scale): string {
  const known = column.flatMap((value, index) => (typeof value === 'number' ? [{ value, index }] : []));
  const [first, last] = [known[0]?.index ?? 0, known.at(-1)?.index ?? 0];
  if ((last - first) * STEP_S < SHORTEST_S) return '';
  const stepPx = WIDTH / Math.max(column.length - 1, 1);
  return known
    .map(({ value, index }) => {
      const y = HEIGHT - 2 - ((value - least) / (most - least || 1)) * (HEIGHT - 4);
      return `${(index * stepPx).toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
}
