/** Lines over time with bands from minimum to maximum, one scale per unit. Loaded with the first chart. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import styles from 'uplot/dist/uPlot.min.css' with { type: 'text' };
import type { DurationS, EpochS } from '../../lib/time.ts';
import { momentText } from '../format.ts';
import { adoptStyles } from '../ui/late-styles.ts';
import { zone } from '../zone.ts';
import { axisTexts, cellText, timeTexts } from './axis-texts.ts';
import type { Lines } from './series.ts';
import { say } from '../words/index.ts';

adoptStyles(styles);

/** As in the styles, which keep the place for it. */
const LEAST_HEIGHT_PX = 240;
const HEIGHT_PX = 420;
const NARROW_PX = 560;
const NARROW_SHAPE = 10 / 16;
/** Below a chart that fills the screen. */
const BELOW_PX = 24;
const SIGN_PX = 14;
/** Height of the texts below the chart. */
const TIMES_PX = 32;
const MARK_NEAR_PX = 6;
/** A shorter drag is a click. */
const DRAG_MIN_PX = 8;

export interface LineLabel {
  label: string;
  unit: string;
  /** It is on or off, and stays so until the next value. */
  isSwitch: boolean;
  /** Which of the colours. */
  colorIndex: number;
  /** It belongs to the time range before. */
  isBefore?: boolean;
}

const COLORS = 6;
const DASH_PX = [5, 5];
const DOTS_PX = [1.5, 3];
const LONE_PX = 4;
const colorOf = ({ colorIndex }: LineLabel): string => color(`--line-${(colorIndex % COLORS) + 1}`);

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A moment at which something happened. */
export interface Mark {
  atS: EpochS;
  /** One letter that stands above its line. */
  sign: string;
  /** Name of a colour of the page. */
  color: string;
}

export interface ChartProps {
  lines: Lines;
  labels: readonly LineLabel[];
  stepS: DurationS;
  /** A range was selected by dragging. */
  onZoom: (fromS: EpochS, toS: EpochS) => void;
  marks?: readonly Mark[];
  /** The selected mark. */
  marked?: number | undefined;
  /** The pointer is near a mark. */
  onMark?: (index: number) => void;
  /** Places of the labels whose lines are not drawn. */
  hidden?: readonly number[];
  /** The card at the cursor for a step. With it there is no legend, and the cursor moves by keyboard too. */
  card?: (index: number) => ComponentChildren;
  /** The cursor is at this step; undefined: it is away. */
  onPoint?: (index: number | undefined) => void;
}

interface Point {
  index: number;
  leftPx: number;
}

function heightOf(place: HTMLElement): number {
  const widthPx = place.clientWidth;
  const freePx = innerHeight - place.getBoundingClientRect().top - BELOW_PX;
  if (place.closest('.full')) return Math.max(LEAST_HEIGHT_PX, freePx);
  return widthPx < NARROW_PX ? Math.max(LEAST_HEIGHT_PX, widthPx * NARROW_SHAPE) : HEIGHT_PX;
}

export function ChartCanvas(props: ChartProps) {
  const { lines, labels } = props;
  const data = [
    lines.timesS,
    ...labels.flatMap((_, index) => [
      lines.mean[index] ?? [],
      lines.most[index] ?? [],
      lines.least[index] ?? [],
    ]),
  ] as uPlot.AlignedData;
  const [point, setPoint] = useState<Point | undefined>(undefined);
  const { place, plot } = usePlot(props, data, (found) => {
    setPoint(found);
    props.onPoint?.(found?.index);
  });
  if (!props.card) return <div class="chart" ref={place} />;
  return (
    <div class="chart with-card">
      <div
        ref={place}
        tabIndex={0}
        role="group"
        aria-label={say.history.moveCursor}
        onKeyDown={(event) => plot.current && moveCursor(plot.current, event)}
      />
      {point && (
        <div
          class={point.leftPx > (place.current?.clientWidth ?? 0) / 2 ? 'value-card before' : 'value-card'}
          style={{ '--at': `${point.leftPx}px` }}
          role="status"
        >
          {props.card(point.index)}
        </div>
      )}
    </div>
  );
}

/** The cursor by keyboard: one step, to an end, or away. */
function moveCursor(plot: uPlot, event: KeyboardEvent): void {
  const times = plot.data[0] as number[];
  const at = plot.cursor.idx ?? times.length - 1;
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: times.length - 1, Escape: -1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const timeS = times[Math.min(Math.max(to, 0), times.length - 1)] ?? 0;
  plot.setCursor(
    to < 0 && event.key === 'Escape' ? { left: -10, top: -10 } : { left: plot.valToPos(timeS, 'x'), top: 0 },
  );
}

/** Built again for other labels, colours or steps; new data go into the existing plot. */
function usePlot(props: ChartProps, data: uPlot.AlignedData, onPoint: (point: Point | undefined) => void) {
  const { lines, labels, stepS, marks, marked, hidden = [] } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef({ props, onPoint });
  latest.current = { props, onPoint };
  const hide = (): void => {
    for (const index of labels.keys())
      for (let line = 1; line <= LINES_OF_EACH; line++)
        plot.current?.setSeries(LINES_OF_EACH * index + line, {
          show: latest.current.props.hidden?.includes(index) !== true,
        });
  };
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const build = (): void => {
      plot.current?.destroy();
      const options = optionsOf(
        () => latest.current.props,
        element,
        (found) => latest.current.onPoint(found),
      );
      plot.current = new uPlot(options, data, element);
      hide();
    };
    build();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', build);
    const resized = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: heightOf(element) }),
    );
    resized.observe(element);
    return () => {
      dark.removeEventListener('change', build);
      resized.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [JSON.stringify([labels, stepS, zone.value])]);
  useEffect(() => plot.current?.setData(data), [lines]);
  useEffect(() => plot.current?.redraw(false), [marks?.length, marked]);
  useEffect(hide, [hidden.join()]);
  return { place, plot };
}

function optionsOf(
  latest: () => ChartProps,
  place: HTMLElement,
  onPoint: (point: Point | undefined) => void,
): uPlot.Options {
  const widthPx = place.clientWidth;
  const { labels, stepS, card } = latest();
  const scales = [...new Map(labels.map((line) => [scaleNameOf(line), line])).values()];
  return {
    width: widthPx,
    height: heightOf(place),
    // Days begin where the site is.
    ...(zone.value !== undefined && { tzDate: tzDateOf(zone.value) }),
    // Dragging zooms in, with finer data.
    cursor: { drag: { x: true, y: false, setScale: false, dist: DRAG_MIN_PX } },
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < DRAG_MIN_PX) return;
          latest().onZoom(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      drawAxes: [(plot) => drawZero(plot, scales[0])],
      draw: [(plot) => drawMarks(plot, latest())],
      ready: [showNewest],
      setData: [showNewest],
      setCursor: [showNewest, (plot) => findMark(plot, latest()), (plot) => onPoint(pointOf(plot))],
    },
    scales: Object.fromEntries(scales.map((line) => [scaleNameOf(line), scaleOf(line)])),
    axes: axesOf(scales, stepS, widthPx),
    series: [
      {
        label: say.history.time,
        value: (_, timeS) => (timeS === null ? '–' : momentText(timeS * 1_000)),
      },
      ...labels.flatMap((line, index) => seriesOf(line, colorOf(line), index === 0)),
    ],
    legend: {
      show: card === undefined,
      markers: { dash: (_, index) => signOf(labels[Math.floor((index - 1) / LINES_OF_EACH)]) },
    },
    bands: labels.map((line, index) => ({
      series: [3 * index + 2, 3 * index + 3],
      fill: `${colorOf(line)}2e`,
    })),
  };
}

/** Without a pointer the legend shows the newest drawn values. */
function showNewest(plot: uPlot): void {
  if (plot.cursor.idx !== null && plot.cursor.idx !== undefined) return;
  const newest = (plot.data[0] as number[]).findLastIndex((_, index) =>
    plot.data.some((values, series) => series > 0 && typeof values[index] === 'number'),
  );
  if (newest >= 0) plot.setLegend({ idx: newest }, false);
}

/** The step that the cursor is at. */
function pointOf({ cursor: { idx: index, left = -1 } }: uPlot): Point | undefined {
  return typeof index === 'number' && left >= 0 ? { index, leftPx: left } : undefined;
}

/** Above it is more, below it less, of what has a direction. */
function drawZero(plot: uPlot, line: LineLabel | undefined): void {
  const { min, max } = (line && plot.scales[scaleNameOf(line)]) ?? {};
  if (!line || line.isSwitch || !(Number(min) < 0 && Number(max) > 0)) return;
  const { ctx, bbox } = plot;
  const y = Math.round(plot.valToPos(0, scaleNameOf(line), true));
  ctx.save();
  ctx.strokeStyle = color('--control-line');
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

/** Vertical lines with their signs above; the selected one is drawn last and thicker. */
function drawMarks(plot: uPlot, { marks = [], marked, stepS }: ChartProps): void {
  const { ctx, bbox } = plot;
  const inOrder = [...marks.entries()].toSorted(([a], [b]) => Number(a === marked) - Number(b === marked));
  ctx.save();
  ctx.font = `${SIGN_PX * devicePixelRatio}px sans-serif`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'top';
  for (const [index, { atS, sign, color: name }] of inOrder) {
    const { min = 0, max = 0 } = plot.scales['x'] ?? {};
    // The last step begins where the scale ends.
    if (atS < (min ?? 0) || atS > (max ?? 0) + stepS) continue;
    const x = Math.min(plot.valToPos(atS, 'x', true), bbox.left + bbox.width);
    ctx.strokeStyle = ctx.fillStyle = color(name);
    ctx.globalAlpha = index === marked ? 1 : 0.45;
    ctx.lineWidth = (index === marked ? 3 : 1) * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top + SIGN_PX * devicePixelRatio);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.fillText(sign, x, bbox.top);
  }
  ctx.restore();
}

/** The mark that is nearest to the pointer, if it is near. */
function findMark(plot: uPlot, { marks = [], marked, onMark }: ChartProps): void {
  const { left = -1, event } = plot.cursor;
  // Without an event the cursor was not moved by the user.
  if (marks.length === 0 || left < 0 || !event) return;
  let [nearest, leastPx] = [-1, MARK_NEAR_PX];
  for (const [index, { atS }] of marks.entries()) {
    const px = Math.abs(plot.valToPos(atS, 'x') - left);
    if (px < leastPx) [nearest, leastPx] = [index, px];
  }
  if (nearest >= 0 && nearest !== marked) onMark?.(nearest);
}

const tzDateOf = (name: string) => (timeS: EpochS) => uPlot.tzDate(new Date(timeS * 1_000), name);

/** Lines of one unit have one scale. */
const scaleNameOf = ({ unit, isSwitch }: LineLabel): string => (isSwitch ? 'switch' : `unit ${unit}`);

/** The scale of power includes 0, that of a percentage 0 and 100. */
function scaleOf({ unit, isSwitch }: LineLabel): uPlot.Scale {
  // Room above and below, so that lines of switches do not lie on the frame.
  if (isSwitch) return { range: [-0.2, 1.2] };
  if (unit === '%') return { range: (_, min, max) => [Math.min(0, min ?? 0), Math.max(100, max ?? 0)] };
  if (!/^[kM]?W$/.test(unit)) return {};
  return {
    range: (_, min, max) => uPlot.rangeNum(Math.min(0, min ?? 0), Math.max(0, max ?? 0), 0.05, true),
  };
}

/** Lines beyond the number of colours are dotted, so that no two look the same. */
const isDotted = ({ colorIndex }: LineLabel): boolean => colorIndex >= COLORS;

function signOf(line: LineLabel | undefined): 'solid' | 'dotted' | 'dashed' {
  if (line?.isBefore === true) return 'dashed';
  return line && isDotted(line) ? 'dotted' : 'solid';
}

/** A value between two gaps has no line, so it gets a point. */
function lonePoints(plot: uPlot, seriesIndex: number): number[] {
  const values = plot.data[seriesIndex] ?? [];
  const isGap = (index: number): boolean => values[index] === null || index < 0 || index >= values.length;
  return [...values.keys()].filter(
    (index) => typeof values[index] === 'number' && isGap(index - 1) && isGap(index + 1),
  );
}

/** Mean, maximum and minimum; the latter two have no line and are not in the legend. */
const LINES_OF_EACH = 3;

/** @param isFirst the line that was asked for; others are drawn beside it */
function seriesOf(line: LineLabel, stroke: string, isFirst: boolean): uPlot.Series[] {
  const { label, unit, isSwitch } = line;
  const sign = signOf(line);
  const common = { scale: scaleNameOf(line), spanGaps: false } as const;
  const edge: uPlot.Series = { ...common, label: '', class: 'edge', points: { show: false } };
  return [
    {
      ...common,
      // The axes of a phone have no room for units.
      label: unit === '' ? label : `${label}, ${unit}`,
      stroke,
      width: isFirst ? 2.5 : 1.5,
      points: { show: true, size: LONE_PX, fill: stroke, filter: lonePoints },
      ...(sign !== 'solid' && { dash: sign === 'dashed' ? DASH_PX : DOTS_PX }),
      ...(isSwitch && { paths: uPlot.paths.stepped?.({ align: 1 }) }),
      value: (_, value) => `${cellText(value, isSwitch)}${typeof value === 'number' ? ` ${unit}` : ''}`,
    },
    edge,
    edge,
  ];
}

function axesOf(scales: readonly LineLabel[], stepS: DurationS, widthPx: number): uPlot.Axis[] {
  const isNarrow = widthPx < NARROW_PX;
  const line = {
    stroke: color('--muted'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  return [
    {
      ...line,
      size: TIMES_PX,
      space: isNarrow ? 60 : 80,
      values: (_, splits, _axis, _space, apartS) => timeTexts(splits, apartS, stepS),
    },
    ...scales.map((one, index): uPlot.Axis => ({
      ...line,
      scale: scaleNameOf(one),
      side: index % 2 === 0 ? 3 : 1,
      // More than two axes would leave no room for the lines on a phone.
      show: !isNarrow || index < 2,
      grid: { ...line.grid, show: index === 0 },
      size: (_, texts) => widthOf(texts, isNarrow ? 46 : 62),
      ...(one.isSwitch && { splits: [0, 1] }),
      values: (_, splits, _axis, _space, step) =>
        one.isSwitch ? splits.map((value) => cellText(value, true)) : axisTexts(splits, step, one.unit),
    })),
  ];
}

/** G: what a letter of an axis takes, and the space around a text. */
const LETTER_PX = 6.5;
const AROUND_PX = 14;

/** @param texts not known before the axis is drawn first */
const widthOf = (texts: readonly string[] | null, leastPx: number): number =>
  Math.max(leastPx, AROUND_PX + LETTER_PX * Math.max(0, ...(texts ?? []).map(({ length }) => length)));
