/** Where consumption came from, hour by hour, day by day or month by month, as columns and as a table. */
import { go } from '../route.ts';
import { PictureTable } from '../ui.tsx';
import { type Book, consumed, type Energy, energyText } from './energy.ts';
import { say } from '../words/index.ts';

const HEIGHT = 96;
const WIDTH = 480;
const ORIGINS = [
  { role: 'pv', text: say.site.role.pv },
  { role: 'generator', text: say.site.role.generator },
  { role: 'battery', text: say.site.role.battery },
  { role: 'grid', text: say.site.role.grid },
  { role: 'unmeasured', text: say.site.unknown },
] as const;

type Bucket = Energy['buckets'][number];
type Origin = (typeof ORIGINS)[number]['role'];

const usedFrom = ({ flows_wh: flows }: Book, origin: Origin): number => consumed(flows[origin]);

const usedOf = (book: Book): number => ORIGINS.reduce((sum, { role }) => sum + usedFrom(book, role), 0);

interface Naming {
  /** The name of a bucket by its begin. */
  textOf: (from: string) => string;
  /** The address that shows a bucket in detail. */
  hrefOf: (bucket: Bucket) => string;
}

/** Columns are pressed by touch and mouse; the table has the same links for the keyboard. */
export function EnergyBars({ energy, textOf, hrefOf }: Naming & { energy: Energy }) {
  const { buckets } = energy;
  const most = Math.max(...buckets.map(usedOf), 1);
  const stepPx = WIDTH / Math.max(buckets.length, 1);
  if (buckets.length < 2 || buckets.every((bucket) => usedOf(bucket) === 0)) return null;
  const shown = ORIGINS.filter(({ role }) => buckets.some((bucket) => usedFrom(bucket, role) > 0));
  return (
    <figure class="energy-bars">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={say.site.consumptionOverTime}
      >
        {buckets.map((bucket, index) => {
          let topPx = HEIGHT;
          return (
            <g key={bucket.from} onClick={() => go(hrefOf(bucket))}>
              <title>{`${textOf(bucket.from)}: ${energyText(usedOf(bucket))}`}</title>
              <rect class="whole" x={index * stepPx} width={stepPx} height={HEIGHT} />
              {shown.map(({ role }) => {
                const heightPx = (usedFrom(bucket, role) / most) * HEIGHT;
                if (heightPx === 0) return null;
                topPx -= heightPx;
                return (
                  <rect
                    key={role}
                    class={role}
                    x={index * stepPx + stepPx * 0.12}
                    y={topPx}
                    width={stepPx * 0.76}
                    height={heightPx}
                  />
                );
              })}
            </g>
          );
        })}
      </svg>
      <figcaption>
        <span>{textOf(buckets[0]?.from ?? '')}</span>
        <span>{say.site.most(energyText(most))}</span>
        <span>{textOf(buckets.at(-1)?.from ?? '')}</span>
      </figcaption>
      <BarsTable {...{ buckets, shown, textOf, hrefOf }} />
    </figure>
  );
}

function BarsTable({
  buckets,
  shown,
  textOf,
  hrefOf,
}: Naming & {
  buckets: readonly Bucket[];
  shown: readonly (typeof ORIGINS)[number][];
}) {
  return (
    <details>
      <summary>{say.history.asTable}</summary>
      <PictureTable
        name={say.site.consumptionOverTime}
        head={[say.site.from, ...shown.map(({ text }) => text)]}
        rows={buckets.map((bucket) => ({
          key: bucket.from,
          title: <a href={hrefOf(bucket)}>{textOf(bucket.from)}</a>,
          cells: shown.map(({ role }) => energyText(usedFrom(bucket, role))),
        }))}
      />
    </details>
  );
}
