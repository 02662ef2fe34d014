/** A chart of what a script read in a dry run, with a mark for each of its actions and a list of them. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { EpochS } from '../../lib/time.ts';
import { momentText } from '../format.ts';
import { cellText } from '../history/axis-texts.ts';
import type { ChartProps, Mark } from '../history/chart-canvas.tsx';
import type { Lines } from '../history/series.ts';
import type { Chosen } from '../history/chosen.ts';
import { labelOf, readLines, useCanvas } from '../history/view.tsx';
import { stepOf, textOfWindow } from '../history/window.ts';
import { liveDevice } from '../live.ts';
import { drawable } from '../main-values.ts';
import { Awaited, Button, ErrorNotice, Loading, PictureTable, useAnswer } from '../ui.tsx';
import type { DryRunEntry, DryRunReport } from '../shapes.ts';
import { say } from '../words/later.ts';

/** As many as there are colours. */
const SERIES_MAX = 6;
const MS = 1_000;

/** A shape for each kind, so that no colour is needed to tell them apart. */
const SIGNS: Readonly<Record<DryRunEntry['kind'], Omit<Mark, 'atS'>>> = {
  command: { sign: '▼', color: '--accent' },
  log: { sign: '●', color: '--info' },
  storage: { sign: '■', color: '--muted' },
  http: { sign: '◆', color: '--muted' },
  notification: { sign: '✉', color: '--info' },
  error: { sign: '✕', color: '--bad' },
  restart: { sign: '↻', color: '--warn' },
};

interface Stretch {
  fromS: EpochS;
  toS: EpochS;
}

const secondsOf = (instant: string): number => Date.parse(instant) / MS;

function drawnOf({ read }: DryRunReport): Chosen[] {
  return read.flatMap(({ device_id: id, attribute }): Chosen[] => {
    const live = liveDevice(id);
    return live?.manifest && drawable(live.manifest).includes(attribute) ? [{ live, attribute }] : [];
  });
}

export function DryRunPicture({ report }: { report: DryRunReport }) {
  const { entries } = report;
  const period = { fromS: Math.floor(secondsOf(report.from)), toS: Math.ceil(secondsOf(report.to)) };
  const [stretch, setStretch] = useState<Stretch>(period);
  const [marked, setMarked] = useState<number | undefined>(undefined);
  const able = drawnOf(report);
  const chosen = able.slice(0, SERIES_MAX);
  const stepS = stepOf(stretch);
  const { answer, error } = useAnswer(
    async () => (chosen.length === 0 ? undefined : { stepS, ...(await readLines(chosen, stretch, stepS)) }),
    [stretch.fromS, stretch.toS],
  );
  const mark = (index: number | undefined): void => {
    setMarked(index);
    const atS = index === undefined ? undefined : secondsOf(entries[index]?.at ?? report.from);
    if (atS !== undefined && (atS < stretch.fromS || atS > stretch.toS)) setStretch(period);
  };
  return (
    <>
      <ErrorNotice error={error} />
      <div class="dry-run-picture">
        {chosen.length === 0 ? (
          <p class="hint">{say.dryRun.noneDrawn}</p>
        ) : (
          <figure aria-label={say.dryRun.whatItRead}>
            {answer ? (
              <Chart
                {...answer}
                chosen={chosen}
                entries={entries}
                marked={marked}
                onMark={mark}
                onZoom={(fromS, toS) => setStretch({ fromS: Math.floor(fromS), toS: Math.ceil(toS) })}
              />
            ) : (
              error === undefined && <Loading />
            )}
            <figcaption class="hint">
              {entries.length > 0 && say.dryRun.marks(signsOf(entries))}
              {able.length > SERIES_MAX && ` ${say.dryRun.moreRead(able.length - SERIES_MAX)}`}
            </figcaption>
            <div class="actions">
              {stretch.toS - stretch.fromS < period.toS - period.fromS && (
                <Button onClick={() => setStretch(period)}>{say.dryRun.wholeTime}</Button>
              )}
              <a class="button" href={historyOf(chosen, stretch)}>
                {say.dryRun.inHistory}
              </a>
            </div>
          </figure>
        )}
        {entries.length > 0 && <EntryList entries={entries} marked={marked} onMark={mark} />}
      </div>
      {answer && entries.length > 0 && <Table chosen={chosen} entries={entries} lines={answer.lines} />}
    </>
  );
}

/** The signs of the chart, each with its meaning. */
function signsOf(entries: readonly DryRunEntry[]) {
  return [...new Set(entries.map(({ kind }) => kind))].map((kind) => (
    <span class="mark-sign" key={kind}>
      <Sign kind={kind} /> {say.dryRun.kind[kind]}
    </span>
  ));
}

function Sign({ kind }: { kind: DryRunEntry['kind'] }) {
  return (
    <i aria-hidden="true" style={{ color: `var(${SIGNS[kind].color})` }}>
      {SIGNS[kind].sign}
    </i>
  );
}

function historyOf(chosen: readonly Chosen[], { fromS, toS }: Stretch): string {
  const names = chosen.map(({ live, attribute }) => `${live.device.id}.${attribute}`).join('~');
  return `#/history/${textOfWindow(fromS, toS)}/${encodeURIComponent(names)}`;
}

function Chart({
  chosen,
  entries,
  ...chart
}: Omit<ChartProps, 'labels' | 'marks'> & {
  chosen: readonly Chosen[];
  entries: readonly DryRunEntry[];
}) {
  const { Canvas, error } = useCanvas();
  if (!Canvas) return <Awaited answer={Canvas} error={error} />;
  return (
    <Canvas
      {...chart}
      labels={chosen.map((one, index) => ({ ...labelOf(one, chosen), colorIndex: index }))}
      marks={entries.map(({ at, kind }) => ({ atS: secondsOf(at), ...SIGNS[kind] }))}
    />
  );
}

/** One Tab stop for the whole list: arrow keys move through it. */
function EntryList({
  entries,
  marked,
  onMark,
}: {
  entries: readonly DryRunEntry[];
  marked: number | undefined;
  onMark: (index: number) => void;
}) {
  const place = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (marked !== undefined) place.current?.children[marked]?.scrollIntoView({ block: 'nearest' });
  }, [marked]);
  const press = (event: KeyboardEvent): void => {
    const next = nextOf(event.key, marked, entries.length);
    if (next === undefined) return;
    event.preventDefault();
    onMark(next);
  };
  return (
    <div>
      <p class="hint" id="dry-run-keys">
        {say.dryRun.keys}
      </p>
      <ol
        class="log marked"
        ref={place}
        role="listbox"
        tabIndex={0}
        aria-label={say.dryRun.whatItDid}
        aria-describedby="dry-run-keys"
        aria-activedescendant={marked === undefined ? undefined : `dry-run-${marked}`}
        onKeyDown={press}
      >
        {entries.map((entry, index) => (
          <li
            key={index}
            id={`dry-run-${index}`}
            role="option"
            aria-selected={marked === index}
            onClick={() => onMark(index)}
          >
            <time>{momentText(entry.at)}</time>
            <span class={`severity ${severityOf(entry)}`}>
              <Sign kind={entry.kind} /> {say.dryRun.kind[entry.kind]}
            </span>
            <span class="message">{textOf(entry)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function nextOf(key: string, marked: number | undefined, count: number): number | undefined {
  const last = count - 1;
  if (key === 'ArrowDown') return Math.min((marked ?? -1) + 1, last);
  if (key === 'ArrowUp') return Math.max((marked ?? count) - 1, 0);
  if (key === 'Home') return 0;
  return key === 'End' ? last : undefined;
}

/** The values at the moments of the script's actions. */
function Table({
  chosen,
  entries,
  lines,
}: {
  chosen: readonly Chosen[];
  entries: readonly DryRunEntry[];
  lines: Lines;
}) {
  const labels = chosen.map((one) => labelOf(one, chosen));
  return (
    <details>
      <summary>{say.history.asTable}</summary>
      <PictureTable
        name={say.dryRun.whatItDid}
        head={[
          say.history.time,
          say.dryRun.whatItDid,
          ...labels.map(({ label, unit }) => `${label} ${unit}`),
        ]}
        rows={entries.map((entry, index) => ({
          key: index,
          title: momentText(entry.at),
          cells: [
            `${say.dryRun.kind[entry.kind]}: ${textOf(entry)}`,
            ...labels.map(({ isSwitch }, series) => valueAt(lines, series, secondsOf(entry.at), isSwitch)),
          ],
        }))}
      />
    </details>
  );
}

/** The newest drawn value until then. */
function valueAt({ timesS, mean }: Lines, series: number, atS: EpochS, isSwitch: boolean): string {
  const last = timesS.findLastIndex((timeS) => timeS <= atS);
  const value = (mean[series] ?? []).slice(0, last + 1).findLast((cell) => typeof cell === 'number');
  return cellText(value, isSwitch);
}

function severityOf(entry: DryRunEntry): string {
  if (entry.kind === 'error' || entry.error !== undefined) return 'error';
  if (entry.kind === 'restart') return 'warning';
  return entry.severity ?? 'info';
}

function textOf(entry: DryRunEntry): string {
  switch (entry.kind) {
    case 'command': {
      const name = liveDevice(entry.device_id ?? '')?.device.name ?? entry.device_id;
      const refusal = entry.error === undefined ? '' : `: ${entry.error}`;
      return `${name}: ${entry.name} ${JSON.stringify(entry.arguments)}${refusal}`;
    }
    case 'storage': {
      const { store = '', key = '', value } = entry;
      return value === undefined ? say.dryRun.removed(store, key) : `${store} ${key} = ${value}`;
    }
    case 'http':
      return say.dryRun.notSent(entry.method ?? '', entry.url ?? '');
    case 'notification': {
      const { title = '', text = '', error } = entry;
      const refusal = error === undefined ? '' : `: ${error}`;
      return `${text === '' ? title : `${title} · ${text}`}${refusal}`;
    }
    case 'restart':
      return say.dryRun.startsAgain(entry.after ?? '');
    default:
      return entry.message ?? '';
  }
}
