/** Values of a device over time. */
import { useEffect, useState } from 'preact/hooks';
import { callForText } from '../api.ts';
import { type Series, seriesOf } from '../csv.ts';
import { words } from '../format.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import type { LiveDevice } from '../live.ts';
import type { ChartCanvas as Drawn } from '../parts/chart-canvas.tsx';
import { mainValues } from '../main-values.ts';
import { Card, Empty, ErrorNotice, Loading } from '../ui.tsx';
import type { Manifest } from '../shapes.ts';

type ChartCanvas = typeof Drawn;

interface Range {
  name: string;
  text: string;
  lengthS: number;
  stepS: number;
  refreshMs: number;
}

/** A few hundred points each: as many as a screen shows. */
const RANGES: readonly Range[] = [
  { name: 'hour', text: 'Hour', lengthS: 3_600, stepS: 10, refreshMs: 10_000 },
  { name: 'day', text: 'Day', lengthS: 86_400, stepS: 300, refreshMs: 60_000 },
  { name: 'week', text: 'Week', lengthS: 604_800, stepS: 1_800, refreshMs: 300_000 },
];

const CHOSEN_FIRST = 2;

export function drawable(manifest: Manifest | undefined): string[] {
  return Object.entries(manifest?.telemetry ?? {})
    .filter(([, { type }]) => type === 'float' || type === 'integer' || type === 'boolean')
    .map(([name]) => name);
}

async function query(live: LiveDevice, attributes: readonly string[], range: Range): Promise<Series> {
  const toS = Math.ceil(gatewayNowMs() / 1_000);
  const fromS = toS - range.lengthS;
  const text = await callForText(
    'POST',
    '/v3/telemetry/query_timeseries',
    {
      from: fromS,
      to: toS,
      granularity: `${range.stepS}s`,
      aggregation: 'auto',
      telemetry: [{ device: live.device.id, attribute: attributes }],
    },
    'text/csv',
  );
  return seriesOf(text, attributes, { fromS, toS, stepS: range.stepS });
}

/** The drawing library is loaded with the first chart. */
function useCanvas(): { Canvas: ChartCanvas | undefined; error: unknown } {
  const [Canvas, setCanvas] = useState<ChartCanvas | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => {
    import('../parts/chart-canvas.tsx').then(
      (found) => setCanvas(() => found.ChartCanvas),
      () => setError(new Error('The chart could not be loaded. Load the page again.')),
    );
  }, []);
  return { Canvas, error };
}

export function ChartTab({ live }: { live: LiveDevice }) {
  const names = drawable(live.manifest);
  const [chosen, setChosen] = useState<readonly string[]>(() => firstChoice(live));
  const [range, setRange] = useState<Range>(RANGES[0] as Range);
  const [series, setSeries] = useState<{ of: readonly string[]; range: Range; data: Series } | undefined>(
    undefined,
  );
  const [error, setError] = useState<unknown>(undefined);
  const canvas = useCanvas();

  useEffect(() => {
    if (chosen.length === 0) return undefined;
    let isCurrent = true;
    const load = (): void =>
      void query(live, chosen, range).then(
        (data) => {
          if (!isCurrent) return;
          setSeries({ of: chosen, range, data });
          setError(undefined);
        },
        (failure: unknown) => {
          if (isCurrent) setError(failure);
        },
      );
    load();
    const timer = setInterval(load, range.refreshMs);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [live.device.id, chosen, range]);

  if (names.length === 0)
    return (
      <Empty title="Nothing to draw">
        <p>The blueprint declares no numbers.</p>
      </Empty>
    );
  const shown = series && series.of === chosen && series.range === range ? series.data : undefined;
  const isEmpty = shown?.columns.every((column) => column.every((value) => value === null));
  return (
    <Card
      title="Chart"
      data-test="chart"
      actions={
        <div class="segments" role="group" aria-label="Range">
          {RANGES.map((one) => (
            <button type="button" key={one.name} aria-pressed={one === range} onClick={() => setRange(one)}>
              {one.text}
            </button>
          ))}
        </div>
      }
    >
      <ErrorNotice error={error ?? canvas.error} />
      {chosen.length === 0 ? (
        <Empty title="Choose what to draw" />
      ) : isEmpty ? (
        <Empty title={`No values in the last ${range.name}`}>
          <p>Choose a longer range or other values.</p>
        </Empty>
      ) : shown && canvas.Canvas && live.manifest ? (
        <canvas.Canvas series={shown} names={chosen} manifest={live.manifest} stepS={range.stepS} />
      ) : (
        <Loading />
      )}
      <fieldset class="choices">
        <legend>Values</legend>
        {names.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={() =>
                setChosen(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name])
              }
            />
            {live.manifest?.telemetry[name]?.display_name ?? words(name)}
          </label>
        ))}
      </fieldset>
    </Card>
  );
}

function firstChoice({ manifest }: LiveDevice): string[] {
  return manifest ? mainValues(manifest).numbers.slice(0, CHOSEN_FIRST) : [];
}
