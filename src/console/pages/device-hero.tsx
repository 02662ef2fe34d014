/** The most telling value of a device, large, with its last day. */
import { attributeTitle, showValue } from '../format.ts';
import type { Place } from '../devices/roles.ts';
import type { LiveDevice } from '../live.ts';
import { useLastDay, useScales } from '../parts/sparkline.tsx';
import { Value } from '../parts/value.tsx';
import { timesAs } from '../zone.ts';
import type { Cell } from '../history/series.ts';
import { say } from '../words/index.ts';

const WIDTH = 600;
const HEIGHT = 160;
/** Width of the line, which is drawn around its path. */
const EDGE = 3;
const LABELS = 4;

/** A power is read from zero, and its greatest is worth a figure. */
const isPower = (live: LiveDevice, name: string): boolean =>
  /^[kM]?W$/.test(live.manifest?.telemetry[name]?.unit ?? '');

export function Hero({ live, place, names }: { live: LiveDevice; place: Place; names: readonly string[] }) {
  const [first = '', ...others] = names;
  const { most } = useLastDay();
  const { manifest } = live;
  const hasMost = isPower(live, first);
  const peak = showValue(hasMost ? most : undefined, manifest?.telemetry[first], manifest, first);
  const titleOf = (name: string): string => attributeTitle(name, manifest?.telemetry[name]);
  return (
    <section class={`card hero ${place}`} aria-label={titleOf(first)}>
      <dl>
        <div class="first">
          <dt>{titleOf(first)}</dt>
          <dd>
            <Value live={live} name={first} />
          </dd>
        </div>
        {hasMost && (
          <div>
            <dt>{say.devices.peakOfDay}</dt>
            <dd class="value">
              <b>{peak.text}</b>
              <small> {peak.unit}</small>
            </dd>
          </div>
        )}
        {others.slice(0, hasMost ? 2 : 3).map((name) => (
          <div key={name}>
            <dt>{titleOf(name)}</dt>
            <dd>
              <Value live={live} name={name} />
            </dd>
          </div>
        ))}
      </dl>
      <Day live={live} name={first} title={titleOf(first)} isFilled={hasMost} />
    </section>
  );
}

/** The last 24 hours of a value. @param props.isFilled down to zero */
function Day({
  live,
  name,
  title,
  isFilled,
}: {
  live: LiveDevice;
  name: string;
  title: string;
  isFilled: boolean;
}) {
  const { columns, timesS } = useLastDay();
  const scale = useScales(live, [name]).get(name) ?? { least: 0, most: 1 };
  const column = columns.get(name) ?? [];
  const yOf = (value: number): number =>
    HEIGHT - EDGE - ((value - scale.least) / (scale.most - scale.least || 1)) * (HEIGHT - 2 * EDGE);
  const xOf = (index: number): number => (index * WIDTH) / Math.max(column.length - 1, 1);
  const parts = stretchesOf(column).map((part) =>
    part.map(({ index, value }) => `${xOf(index).toFixed(1)} ${yOf(value).toFixed(1)}`).join('L'),
  );
  const zero = yOf(Math.min(Math.max(0, scale.least), scale.most));
  const isEmpty = timesS.length > 0 && !parts.some((line) => line.includes('L'));
  const clock = timesAs({ hour: '2-digit', minute: '2-digit' });
  return (
    <>
      <a
        class="day"
        href={`#/history/day/${encodeURIComponent(`${live.device.id}.${name}`)}`}
        aria-label={[say.devices.historyOf(title), ...(isEmpty ? [say.devices.dayEmpty] : [])].join('. ')}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {parts.map((line) => (
            <>
              {isFilled && <path class="area" d={`M${line}V${zero}H${line.slice(0, line.indexOf(' '))}Z`} />}
              <path class="line" d={`M${line}`} />
            </>
          ))}
          <path class="zero" d={`M0 ${isFilled ? zero : HEIGHT}H${WIDTH}`} />
        </svg>
        {isEmpty && <span class="nothing">{say.devices.dayEmpty}</span>}
      </a>
      <p class="times" aria-hidden="true">
        {Array.from({ length: LABELS + 1 }, (_, index) => (
          <small key={index}>
            {clock.format((timesS[Math.round((index * (timesS.length - 1)) / LABELS)] ?? 0) * 1_000)}
          </small>
        ))}
      </p>
    </>
  );
}

interface Point {
  index: number;
  value: number;
}

/** Values that belong together, without the gaps between them. */
function stretchesOf(column: readonly Cell[]): Point[][] {
  const stretches: Point[][] = [];
  let isOpen = false;
  for (const [index, value] of column.entries()) {
    if (value === null) isOpen = false;
    if (typeof value !== 'number') continue;
    if (isOpen) stretches.at(-1)?.push({ index, value });
    else stretches.push([{ index, value }]);
    isOpen = true;
  }
  return stretches;
}
