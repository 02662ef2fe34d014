/** Energy of today, yesterday or this month: what the sun gave, where consumption came from. */
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { Card, ErrorNotice, Loading, useAnswer } from '../ui.tsx';
import {
  type Book,
  type Energy,
  energyText,
  percentText,
  ROLE_NAMES,
  type Role,
  spanText,
} from './energy.ts';

const REFRESH_MS = 60_000;
const HALF_DAY_MS = 43_200_000;

const SPANS = [
  { name: 'today', text: 'Today' },
  { name: 'yesterday', text: 'Yesterday' },
  { name: 'month', text: 'This month' },
] as const;
type Span = (typeof SPANS)[number]['name'];

async function load(span: Span): Promise<Energy> {
  const ask = async (query: string): Promise<Energy> =>
    (await call<{ energy: Energy }>('GET', `/v3/site/energy?${query}`)).energy;
  if (span === 'month') return ask('granularity=month');
  const today = await ask('granularity=day');
  const begin = today.buckets[0]?.from;
  if (span === 'today' || begin === undefined) return today;
  // The day before begins 23 to 25 hours earlier.
  const from = new Date(Date.parse(begin) - HALF_DAY_MS).toISOString();
  return ask(`granularity=day&from=${from}&to=${begin}`);
}

export function BooksCard() {
  const [span, setSpan] = useState<Span>('today');
  const { answer, error, again } = useAnswer(async () => ({ span, energy: await load(span) }), [span]);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && again(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [span]);
  const energy = answer?.span === span ? answer.energy : undefined;
  return (
    <Card
      title="Energy"
      data-test="energy-books"
      actions={
        <div class="segments" role="group" aria-label="Time">
          {SPANS.map(({ name, text }) => (
            <button type="button" key={name} aria-pressed={name === span} onClick={() => setSpan(name)}>
              {text}
            </button>
          ))}
        </div>
      }
    >
      <ErrorNotice error={error} />
      {energy ? <Books energy={energy} /> : error === undefined && <Loading />}
    </Card>
  );
}

interface Part {
  role: string;
  text: string;
  energyWh: number;
}

function Books({ energy }: { energy: Energy }) {
  const { total } = energy;
  const flows = total.flows_wh;
  const uses = ['load', 'electrolyser', 'ev_charger'] as const;
  const toUses = (origin: keyof typeof flows): number =>
    uses.reduce((sum, use) => sum + flows[origin][use], 0);
  const consumption: Part[] = [
    { role: 'pv', text: 'from the sun', energyWh: toUses('pv') },
    { role: 'generator', text: 'from generators', energyWh: toUses('generator') },
    { role: 'battery', text: 'from the battery', energyWh: toUses('battery') },
    { role: 'grid', text: 'from the grid', energyWh: toUses('grid') },
    { role: 'unmeasured', text: 'of unknown origin', energyWh: toUses('unmeasured') },
  ];
  const sun: Part[] = [
    { role: 'load', text: 'consumed', energyWh: toUses('pv') },
    { role: 'battery', text: 'into the battery', energyWh: flows.pv.battery },
    { role: 'grid', text: 'exported', energyWh: flows.pv.grid },
    { role: 'unmeasured', text: 'losses', energyWh: flows.pv.losses },
  ];
  return (
    <>
      <dl class="books-numbers">
        <Number
          name="Self-sufficiency"
          value={percentText(total.self_sufficiency)}
          hint="not from the grid"
        />
        <Number
          name="Self-consumption"
          value={percentText(total.self_consumption)}
          hint="of the sun, not exported"
        />
        <Number name="Imported" value={energyText(total.sources_wh.grid)} />
        <Number name="Exported" value={energyText(total.uses_wh.grid)} />
        <Number name="Charged" value={energyText(total.uses_wh.battery)} />
        <Number name="Discharged" value={energyText(total.sources_wh.battery)} />
      </dl>
      <Bar title="Consumption" parts={consumption} />
      <Bar title="Sun" parts={sun} />
      <Gaps book={total} />
      <details class="assumption">
        <summary>How is this decided?</summary>
        <p>{energy.assumption}</p>
        <p>Days are those of {energy.timezone}.</p>
      </details>
    </>
  );
}

function Number({ name, value, hint }: { name: string; value: string; hint?: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <b>{value}</b>
        {hint !== undefined && <small>{hint}</small>}
      </dd>
    </div>
  );
}

/** A bar whose parts are named with their numbers below it. */
function Bar({ title, parts }: { title: string; parts: readonly Part[] }) {
  const whole = parts.reduce((sum, { energyWh }) => sum + energyWh, 0);
  const shown = parts.filter(({ energyWh }) => energyWh >= 0.5);
  return (
    <section class="book">
      <h3>
        {title} <b>{energyText(whole)}</b>
      </h3>
      <div class="bar" aria-hidden="true">
        {shown.map(({ role, energyWh }) => (
          <i class={role} key={role} style={{ flexGrow: energyWh / whole }} />
        ))}
      </div>
      <ul class="legend">
        {shown.map(({ role, text, energyWh }) => (
          <li key={role}>
            <i class={role} aria-hidden="true" />
            <b>{energyText(energyWh)}</b> {text}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Shorter gaps say nothing about a day. */
const GAP_SHOWN_S = 600;

function Gaps({ book }: { book: Book }) {
  const gaps = Object.entries(book.gap_s).filter(([, seconds]) => seconds >= GAP_SHOWN_S);
  if (gaps.length === 0) return null;
  return (
    <p class="gaps">
      Not known and left out:{' '}
      {gaps
        .map(([role, seconds]) => `${ROLE_NAMES[role as Role].toLowerCase()} for ${spanText(seconds)}`)
        .join(', ')}
      .
    </p>
  );
}
