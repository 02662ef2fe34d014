/** The last hour of each value as a small line; a click opens its history. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { gatewayNowMs } from '../gateway-time.ts';
import { queryLines } from '../history/query.ts';
import type { Cell } from '../history/series.ts';
import type { LiveDevice } from '../live.ts';
import { useAnswer, useRefresh } from '../ui.tsx';
import { say } from '../words/index.ts';
import { type Scale, scalesOf } from './sparkline-scale.ts';

const LENGTH_S = 3_600;
const STEP_S = 120;
const REFRESH_MS = 120_000;
/** Values of one request; further values of a device have no line. */
const VALUES_MAX = 40;
const WIDTH = 84;
const HEIGHT = 28;

const Columns = createContext<ReadonlyMap<string, readonly Cell[]>>(new Map());

async function load({ device, manifest }: LiveDevice): Promise<ReadonlyMap<string, readonly Cell[]>> {
  const names = Object.entries(manifest?.telemetry ?? {})
    .filter(([, { type }]) => type === 'float' || type === 'integer')
    .map(([name]) => name)
    .slice(0, VALUES_MAX);
  if (names.length === 0) return new Map();
  const toS = Math.ceil(gatewayNowMs() / 1_000 / STEP_S) * STEP_S;
  // A clock that is not set begins in 1970.
  const fromS = Math.max(0, toS - LENGTH_S);
  const wanted = names.map((attribute) => ({
    device: device.id,
    attribute,
    aggregations: ['auto'] as const,
  }));
  const { lines } = await queryLines(wanted, { fromS, toS, stepS: STEP_S });
  return new Map(names.map((name, index) => [name, lines.mean[index] ?? []]));
}

/** Reads the lines of a device for its children. */
export function WithSparklines({ live, children }: { live: LiveDevice; children: preact.ComponentChildren }) {
  const { answer, refresh } = useAnswer(() => load(live), [live.device.id, live.manifest]);
  useRefresh(refresh, REFRESH_MS);
  return <Columns.Provider value={answer ?? new Map()}>{children}</Columns.Provider>;
}

/** Draws the lines of one card to scales in common. */
export function useScales({ manifest }: LiveDevice, names: readonly string[]): ReadonlyMap<string, Scale> {
  const columns = useContext(Columns);
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
  const column = useContext(Columns).get(name) ?? [];
  const points = scale === undefined ? '' : pointsOf(column, scale);
  if (points === '') return null;
  return (
    <a
      class="sparkline"
      href={`#/history/hour/${encodeURIComponent(`${live.device.id}.${name}`)}`}
      aria-label={say.devices.historyOf(title)}
    >
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
        <polyline points={points} />
      </svg>
    </a>
  );
}

/** Empty with fewer than two values. */
function pointsOf(column: readonly Cell[], { least, most }: Scale): string {
  const known = column.flatMap((value, index) => (typeof value === 'number' ? [{ value, index }] : []));
  if (known.length < 2) return '';
  const stepPx = WIDTH / Math.max(column.length - 1, 1);
  return known
    .map(({ value, index }) => {
      const y = HEIGHT - 2 - ((value - least) / (most - least || 1)) * (HEIGHT - 4);
      return `${(index * stepPx).toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
}
