/** Lines over time, a scale per unit. Loaded when the first chart is looked at. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Series } from '../csv.ts';
import { numberText, words } from '../format.ts';
import type { Manifest } from '../shapes.ts';

const HEIGHT_PX = 320;
const NARROW_PX = 560;

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function ChartCanvas({
  series,
  names,
  manifest,
  stepS,
}: {
  series: Series;
  names: readonly string[];
  manifest: Manifest;
  stepS: number;
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data: uPlot.AlignedData = [series.timesS, ...series.columns];
  const key = names.join(' ');

  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const build = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(names, manifest, stepS, element.clientWidth), data, element);
    };
    build();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', build);
    const resized = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT_PX }),
    );
    resized.observe(element);
    return () => {
      dark.removeEventListener('change', build);
      resized.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [key, stepS]);

  useEffect(() => {
    if (plot.current) refresh(plot.current, data);
  }, [series]);
  return <div class="chart" ref={place} />;
}

/** What somebody looks at closely stays where it is. */
function refresh(plot: uPlot, data: uPlot.AlignedData): void {
  const { min, max } = plot.scales['x'] ?? {};
  const times = plot.data[0];
  const isZoomed =
    min !== undefined &&
    max !== undefined &&
    min !== null &&
    max !== null &&
    times.length > 1 &&
    (min > (times[0] ?? min) || max < (times.at(-1) ?? max));
  plot.setData(data, !isZoomed);
  if (isZoomed) plot.setScale('x', { min, max });
}

function optionsOf(
  names: readonly string[],
  manifest: Manifest,
  stepS: number,
  widthPx: number,
): uPlot.Options {
  const unitOf = (name: string): string => {
    const unit = manifest.telemetry[name]?.unit ?? '';
    return manifest.units?.[unit]?.symbol ?? unit;
  };
  const units = [...new Set(names.map(unitOf))];
  const isNarrow = widthPx < NARROW_PX;
  const line = {
    stroke: color('--muted'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: widthPx,
    height: HEIGHT_PX,
    cursor: { drag: { x: true, y: false } },
    scales: Object.fromEntries(units.map((unit) => [`unit ${unit}`, {}])),
    axes: [
      { ...line, space: isNarrow ? 60 : 80, values: timeLabels(stepS) },
      ...units.map((unit, index): uPlot.Axis => ({
        ...line,
        scale: `unit ${unit}`,
        side: index % 2 === 0 ? 3 : 1,
        // More than two would leave no room for the lines of a phone.
        show: !isNarrow || index < 2,
        grid: { ...line.grid, show: index === 0 },
        size: isNarrow ? 46 : 62,
        values: (_, splits) =>
          splits.map((value) => (isNarrow || unit === '' ? shortText(value) : `${shortText(value)} ${unit}`)),
      })),
    ],
    series: [
      {
        label: 'Time',
        value: (_, timeS) => (timeS === null ? '–' : new Date(timeS * 1_000).toLocaleString('en-GB')),
      },
      ...names.map((name, index): uPlot.Series => ({
        label: manifest.telemetry[name]?.display_name ?? words(name),
        scale: `unit ${unitOf(name)}`,
        stroke: color(`--line-${(index % 6) + 1}`),
        width: 1.5,
        // A hole is shown as a hole.
        spanGaps: false,
        ...(manifest.telemetry[name]?.type === 'boolean' && { paths: uPlot.paths.stepped?.({ align: 1 }) }),
        value: (_, value) => (value === null ? '–' : `${numberText(value)} ${unitOf(name)}`),
      })),
    ],
  };
}

function shortText(value: number | null): string {
  if (value === null) return '';
  return Math.abs(value) >= 10_000 ? `${numberText(value / 1_000)}k` : numberText(value);
}

/** Times of a day, and dates where a day begins. */
function timeLabels(stepS: number): (plot: uPlot, splits: number[]) => string[] {
  return (_, splits) =>
    splits.map((timeS) => {
      const date = new Date(timeS * 1_000);
      const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
      if (isMidnight && stepS > 10)
        return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
      return date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
    });
}
