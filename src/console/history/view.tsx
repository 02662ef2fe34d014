/** A chart of values over a time range, with its controls, table and files. */
import type { ComponentChildren, ComponentProps } from 'preact';
import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { DurationS, EpochS } from '../../lib/time.ts';
import { isClockUnset } from '../clock-unset.ts';
import { shownUnit, words } from '../format.ts';
import { cellDigits, cellText } from './axis-texts.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import { sheetOf, sheetTime } from '../sheet.ts';
import { periodText } from '../period.ts';
import { timesAs, zone } from '../zone.ts';
import {
  Button,
  Card,
  Check,
  Empty,
  ErrorNotice,
  Late,
  Loading,
  PictureTable,
  useAnswer,
  useRefresh,
} from '../ui.tsx';
import { download } from '../ui/page-components.tsx';
import type { Chosen } from './chosen.ts';
import { Chips, Figures, keyOf, ValueCard } from './chips.tsx';
import type { ChartCanvas as Drawn, LineLabel } from './chart-canvas.tsx';
import { useFullScreen } from './full-screen.ts';
import { queryLines } from './query.ts';
import { aggregationsOf, type Cell, type Lines, type Wanted, withLinesBefore } from './series.ts';
import { stepOf, stretchOf, textOfWindow, type Window, windowOf, withBefore } from './window.ts';
import { WindowControls } from './window-controls.tsx';
import { say } from '../words/index.ts';

type ChartCanvas = typeof Drawn;

/** A live chart is read again after each of its steps. */
const REFRESH_MIN_MS = 10_000;
const REFRESH_MAX_MS = 300_000;
const TABLE_ROWS_MAX = 500;

const nowS = (): EpochS => gatewayNowMs() / 1_000;

interface Shown {
  of: string;
  window: Window;
  stepS: DurationS;
  lines: Lines;
  /** The CSV of the API, and that of the range before if it is drawn. */
  texts: readonly string[];
}

async function load(chosen: readonly Chosen[], of: string, windowText: string | undefined): Promise<Shown> {
  const window = windowOf(windowText, nowS(), zone.value);
  const stepS = stepOf(window);
  const present = await readLines(chosen, window, stepS);
  const { fromS, beforeS } = window;
  // The gateway has no data from before 1970.
  if (!window.isCompared || beforeS < 0)
    return {
      of,
      window: { ...window, isCompared: false },
      stepS,
      texts: [present.text],
      lines: present.lines,
    };
  const before = await readLines(chosen, { fromS: beforeS, toS: fromS }, stepS);
  const lines = withLinesBefore(present.lines, before.lines);
  return { of, window, stepS, texts: [present.text, before.text], lines };
}

/** The lines of the chosen values, and the CSV that they are from. */
export function readLines(
  chosen: readonly Chosen[],
  { fromS, toS }: Pick<Window, 'fromS' | 'toS'>,
  stepS: DurationS,
): Promise<{ text: string; lines: Lines }> {
  const isNumber = ({ live, attribute }: Chosen): boolean =>
    live.manifest?.telemetry[attribute]?.type !== 'boolean';
  const wanted = chosen.map((one) => ({
    ...wantedOf(one),
    aggregations: aggregationsOf(chosen.length, isNumber(one)),
  }));
  return queryLines(wanted, { fromS, toS, stepS });
}

const wantedOf = ({ live, attribute }: Chosen): Wanted => ({ device: live.device.id, attribute });

/** The drawing library is loaded with the first chart. */
export function useCanvas(): { Canvas: ChartCanvas | undefined; error: unknown } {
  const [Canvas, setCanvas] = useState<ChartCanvas | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => {
    import('./chart-canvas.tsx').then(
      (found) => setCanvas(() => found.ChartCanvas),
      () => setError(new Error(say.history.chartLost)),
    );
  }, []);
  return { Canvas, error };
}

export function HistoryView({
  chosen,
  window: windowText,
  onWindow,
  onRemove,
  children,
}: {
  chosen: readonly Chosen[];
  /** As it stands in an address. */
  window: string | undefined;
  onWindow: (window: string) => void;
  /** Takes a line out. Absent: lines are chosen elsewhere. */
  onRemove?: (one: Chosen) => void;
  children: ComponentChildren;
}) {
  const of = JSON.stringify(chosen.map(wantedOf));
  const { answer, isOther, error, refresh } = useAnswer(
    () => (chosen.length === 0 ? Promise.resolve(undefined) : load(chosen, of, windowText)),
    [of, windowText, zone.value],
  );
  const canvas = useCanvas();
  const window = windowOf(windowText, nowS(), zone.value);
  useRefresh(
    () => window.isLive && refresh(),
    Math.min(Math.max(stepOf(window) * 1_000, REFRESH_MIN_MS), REFRESH_MAX_MS),
  );
  const turn = (stretch: string): void => onWindow(withBefore(stretch, window.isCompared));
  // Coarser data stay until the finer have come.
  const shown = answer?.of === of ? answer : undefined;
  const point = useMemo(() => signal<number | undefined>(undefined), []);
  const { hidden, toggle } = useHidden();
  const zoom = (fromS: EpochS, toS: EpochS): void => turn(textOfWindow(fromS, toS));
  const { place, isFull, toggle: onFull } = useFullScreen();
  return (
    <div class={isFull ? 'chart-page full' : 'chart-page'} ref={place}>
      <Card
        title={titleOf(shown?.window ?? window)}
        data-test="chart"
        actions={
          <WindowControls {...{ window, isFull, onFull }} stretch={stretchOf(windowText)} onWindow={turn} />
        }
      >
        <ErrorNotice error={error ?? canvas.error} />
        {chosen.length > 0 && (
          <Chips {...{ chosen, lines: shown?.lines, point, hidden, onRemove }} onToggle={toggle} />
        )}
        <Content
          {...{ Canvas: canvas.Canvas, chosen, shown, isOther, hidden, point }}
          onZoom={zoom}
          hasFailed={error !== undefined}
        />
        <Fold title={say.history.more} isNeeded={chosen.length === 0}>
          <Check
            value={window.isCompared}
            onValue={(isCompared) => onWindow(withBefore(stretchOf(windowText), isCompared))}
          >
            {say.history.withBefore}
          </Check>
          {children}
          {shown && !isEmpty(shown) && <Table shown={shown} chosen={chosen} />}
        </Fold>
      </Card>
    </div>
  );
}

const isEmpty = ({ lines }: Shown): boolean =>
  lines.mean.every((column) => column.every((value) => typeof value !== 'number'));

/** The picture, or why there is none. */
function Content({
  Canvas,
  shown,
  isOther,
  hasFailed,
  ...picture
}: Omit<ComponentProps<typeof Picture>, 'Canvas' | 'shown'> & {
  Canvas: ChartCanvas | undefined;
  shown: Shown | undefined;
  isOther: boolean;
  hasFailed: boolean;
}) {
  if (picture.chosen.length === 0)
    return <Empty title={say.history.chooseWhat}>{say.history.chooseWhatText}</Empty>;
  if (shown && isEmpty(shown))
    return (
      <Late isOther={isOther}>
        <Empty title={say.history.noValues}>
          {isClockUnset() ? say.history.clockUnset : say.history.noValuesText}
        </Empty>
      </Late>
    );
  if (!shown || !Canvas) return hasFailed ? null : <Loading />;
  return (
    <Late isOther={isOther}>
      <Picture {...{ Canvas, shown, ...picture }} />
    </Late>
  );
}

/** Closed at first on a phone, which shows the chart alone. @param props.isNeeded nothing is shown without it */
function Fold({
  title,
  isNeeded = false,
  children,
}: {
  title: string;
  isNeeded?: boolean;
  children: ComponentChildren;
}) {
  const [isOpen] = useState(() => isNeeded || !matchMedia('(max-width: 37.5em)').matches);
  return (
    <details class="more" open={isOpen}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

/** Which lines are hidden by their chips. */
function useHidden(): { hidden: ReadonlySet<string>; toggle: (key: string) => void } {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const toggle = (key: string): void => {
    const others = [...hidden].filter((one) => one !== key);
    setHidden(new Set(hidden.has(key) ? others : [...others, key]));
  };
  return { hidden, toggle };
}

/** The chart, and its figures below. */
function Picture({
  Canvas,
  chosen,
  shown: { lines, window, stepS },
  hidden,
  point,
  onZoom,
}: {
  Canvas: ChartCanvas;
  chosen: readonly Chosen[];
  shown: Shown;
  hidden: ReadonlySet<string>;
  point: Signal<number | undefined>;
  onZoom: (fromS: EpochS, toS: EpochS) => void;
}) {
  return (
    <>
      <Canvas
        {...{ lines, stepS, onZoom }}
        labels={labelsOf(chosen, window)}
        hidden={hiddenPlaces(chosen, hidden)}
        card={(index) => <ValueCard {...{ chosen, lines, index, hidden }} />}
        onPoint={(index) => {
          point.value = index;
        }}
      />
      <Fold title={say.history.inFigures}>
        <Figures chosen={chosen} lines={lines} />
      </Fold>
    </>
  );
}

/** Places of the lines, and of those of the time before, which come after all others. */
function hiddenPlaces(chosen: readonly Chosen[], hidden: ReadonlySet<string>): number[] {
  return chosen.flatMap((one, place) => (hidden.has(keyOf(one)) ? [place, place + chosen.length] : []));
}

const MINUTE_S = 60;

/** @param stepS of a table, whose rows need different names */
const moment = (atS: EpochS, stepS: DurationS = MINUTE_S): string =>
  timesAs({ dateStyle: 'medium', timeStyle: stepS < MINUTE_S ? 'medium' : 'short' }).format(atS * 1_000);

const titleOf = ({ fromS, toS, isLive, period }: Window): string =>
  period !== undefined
    ? periodText(period)
    : `${moment(fromS)} – ${isLive ? say.history.untilNow : moment(toS)}`;

function labelsOf(chosen: readonly Chosen[], { isCompared }: Window): LineLabel[] {
  const labels = chosen.map((one, index) => ({ ...labelOf(one, chosen), colorIndex: index }));
  const before = labels.map((one) => ({ ...one, label: say.history.before(one.label), isBefore: true }));
  return isCompared ? [...labels, ...before] : labels;
}

/** The label of a value among others. */
export function labelOf({ live, attribute }: Chosen, all: readonly Chosen[]) {
  const declared = live.manifest?.telemetry[attribute];
  const title = declared?.display_name ?? words(attribute);
  const isOneDevice = all.every((one) => one.live === live);
  return {
    label: isOneDevice ? title : `${live.device.name} · ${title}`,
    unit: shownUnit(declared?.unit, live.manifest),
    isSwitch: declared?.type === 'boolean',
  };
}

/** The rows in which a value is another than the one before. */
function changesIn<Row extends { values: readonly Cell[] }>(rows: readonly Row[]): readonly Row[] {
  const before: Cell[] = [];
  return rows.filter(({ values }) => {
    const changed = [...values.entries()].filter(
      ([series, value]) => typeof value === 'number' && value !== before[series],
    );
    for (const [series, value] of changed) before[series] = value;
    return changed.length > 0;
  });
}

function Table({ shown, chosen }: { shown: Shown; chosen: readonly Chosen[] }) {
  const [isOpen, setOpen] = useState(false);
  const labels = labelsOf(chosen, shown.window);
  const rows = shown.lines.timesS
    .map((atS, index) => ({ atS, values: shown.lines.mean.map((column) => column[index]) }))
    .filter(({ values }) => values.some((value) => typeof value === 'number'));
  // Attributes that are only on or off are read as times of their changes.
  const read = labels.every(({ isSwitch }) => isSwitch) ? changesIn(rows) : rows;
  const digits = labels.map((_, series) => cellDigits(shown.lines.mean[series] ?? []));
  const head = [say.history.time, ...labels.map(({ label, unit }) => `${label} ${unit}`)];
  const sheet = (): string =>
    sheetOf([head, ...rows.map(({ atS, values }) => [sheetTime(atS * 1_000), ...values])]);
  return (
    <>
      <div class="actions">
        <Button onClick={() => setOpen(!isOpen)}>
          {isOpen ? say.history.withoutTable : say.history.asTable}
        </Button>
        <Button onClick={() => download('history-sheet.csv', sheet(), 'text/csv')}>
          {say.history.asSheet}
        </Button>
        {shown.texts.map((text, index) => (
          <Button
            key={index}
            onClick={() => download(index === 0 ? 'history.csv' : 'history-before.csv', text, 'text/csv')}
          >
            {index === 0 ? say.history.asCsv : say.history.beforeAsCsv}
          </Button>
        ))}
      </div>
      {isOpen && (
        <PictureTable
          name={say.everywhere.values}
          head={head}
          rows={read
            .slice(-TABLE_ROWS_MAX)
            .toReversed()
            .map(({ atS, values }) => ({
              key: atS,
              title: moment(atS, shown.stepS),
              cells: values.map((value, series) =>
                cellText(value, labels[series]?.isSwitch === true, digits[series]),
              ),
            }))}
        />
      )}
    </>
  );
}
