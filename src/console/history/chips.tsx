/** The legend of a chart as chips: colour, name and value of each line, which hide it or take it out. */
import type { Signal } from '@preact/signals';
import { attributeTitle, momentText, showValue } from '../format.ts';
import { cellText } from './axis-texts.ts';
import type { Cell, Lines } from './series.ts';
import type { Chosen } from './chosen.ts';
import { say } from '../words/index.ts';

const COLORS = 6;

const nameOf = ({ live, attribute }: Chosen): string =>
  attributeTitle(attribute, live.manifest?.telemetry[attribute]);

const areOfOneDevice = (chosen: readonly Chosen[]): boolean =>
  chosen.every((one) => one.live === chosen[0]?.live);

/** With its device where there are several, which often name their values alike. */
const nameAmong = (one: Chosen, chosen: readonly Chosen[]): string =>
  areOfOneDevice(chosen) ? nameOf(one) : `${one.live.device.name} · ${nameOf(one)}`;

export const keyOf = ({ live, attribute }: Chosen): string => `${live.device.id}.${attribute}`;

/** A value of a line with its unit. */
function valueText({ live: { manifest }, attribute }: Chosen, value: Cell): string {
  const declared = manifest?.telemetry[attribute];
  if (typeof value !== 'number' || declared?.type === 'boolean')
    return cellText(value, declared?.type === 'boolean');
  const { text, unit } = showValue(value, declared, manifest, attribute);
  return `${text} ${unit}`.trim();
}

/** The last step at which any line has a value. */
function newestOf(lines: Lines | undefined): number {
  const hasValue = (index: number): boolean =>
    lines?.mean.some((column) => typeof column[index] === 'number') === true;
  return lines?.timesS.findLastIndex((_, index) => hasValue(index)) ?? -1;
}

const colorOf = (index: number): string => `var(--line-${(index % COLORS) + 1})`;

export function Chips({
  chosen,
  lines,
  point,
  hidden,
  onToggle,
  onRemove,
}: {
  chosen: readonly Chosen[];
  /** Undefined: not known yet. */
  lines: Lines | undefined;
  /** The step at the cursor. */
  point: Signal<number | undefined>;
  hidden: ReadonlySet<string>;
  onToggle: (key: string) => void;
  /** Absent: they are chosen elsewhere. */
  onRemove?: ((one: Chosen) => void) | undefined;
}) {
  const index = point.value ?? newestOf(lines);
  const atS = lines?.timesS[index];
  const isOneDevice = areOfOneDevice(chosen);
  return (
    <>
      <p class="hint chips-time">{atS === undefined ? '' : momentText(atS * 1_000)}</p>
      <ul class="chosen" aria-label={say.history.whatIsDrawn}>
        {chosen.map((one, place) => {
          const key = keyOf(one);
          const name = nameOf(one);
          const whole = `${one.live.device.name} · ${name}`;
          return (
            <li
              class="series-chip"
              key={key}
              data-name={isOneDevice ? name : whole}
              style={{ '--line-color': colorOf(place) }}
            >
              <button
                type="button"
                class="show"
                aria-pressed={!hidden.has(key)}
                onClick={() => onToggle(key)}
              >
                <i class={place >= COLORS ? 'dotted' : ''} aria-hidden="true" />
                <span>
                  {!isOneDevice && <small>{one.live.device.name} · </small>}
                  {name}
                </span>{' '}
                <b class="now">{valueText(one, lines?.mean[place]?.[index])}</b>
              </button>
              {onRemove && (
                <button
                  type="button"
                  class="remove"
                  aria-label={say.everywhere.removeName(whole)}
                  onClick={() => onRemove(one)}
                >
                  ✕
                </button>
              )}
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** The values of one step, at the cursor. */
export function ValueCard({
  chosen,
  lines,
  index,
  hidden,
}: {
  chosen: readonly Chosen[];
  lines: Lines;
  index: number;
  hidden: ReadonlySet<string>;
}) {
  return (
    <>
      <p>{momentText((lines.timesS[index] ?? 0) * 1_000)}</p>
      <ul>
        {chosen.map((one, place) =>
          hidden.has(keyOf(one)) ? null : (
            <li key={keyOf(one)} style={{ '--line-color': colorOf(place) }}>
              <i aria-hidden="true" />
              {nameAmong(one, chosen)} <b>{valueText(one, lines.mean[place]?.[index])}</b>
            </li>
          ),
        )}
      </ul>
    </>
  );
}

const numbersOf = (column: readonly Cell[] = []): number[] =>
  column.filter((value) => typeof value === 'number');

/** Least, mean and most of what is shown. */
export function Figures({ chosen, lines }: { chosen: readonly Chosen[]; lines: Lines }) {
  const rows = chosen.flatMap((one, place) => {
    const mean = numbersOf(lines.mean[place]);
    if (mean.length === 0 || one.live.manifest?.telemetry[one.attribute]?.type === 'boolean') return [];
    const [least, most] = [numbersOf(lines.least[place]), numbersOf(lines.most[place])];
    const figures = [
      Math.min(...(least.length > 0 ? least : mean)),
      mean.reduce((sum, value) => sum + value, 0) / mean.length,
      Math.max(...(most.length > 0 ? most : mean)),
    ];
    return [{ one, place, figures }];
  });
  if (rows.length === 0) return null;
  return (
    <table class="figures">
      <thead>
        <tr>
          <td />
          <th scope="col">{say.history.least}</th>
          <th scope="col">{say.history.mean}</th>
          <th scope="col">{say.history.most}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ one, place, figures }) => (
          <tr key={keyOf(one)} style={{ '--line-color': colorOf(place) }}>
            <th scope="row">
              <i aria-hidden="true" />
              {nameAmong(one, chosen)}
            </th>
            {figures.map((value, column) => (
              <td key={column}>{valueText(one, value)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
