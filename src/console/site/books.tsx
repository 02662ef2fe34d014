/** Energy of a day, week, month or year: solar yield, sources of consumption, and the period before. */
import { groupBy } from '../group-by.ts';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { EpochMs } from '../../lib/time.ts';
import { callFor } from '../api.ts';
import { spanText } from '../format.ts';
import { gatewayNowMs, slowNowS } from '../gateway-time.ts';
import { loadSite } from '../site-name.ts';
import { Awaited, Card, useAnswer, useRefresh } from '../ui.tsx';
import { timesAs, zone } from '../zone.ts';
import { EnergyBars } from './energy-bars.tsx';
import { edgesOf, periodAt, periodLater, periodText, unitOf } from '../period.ts';
import { type Book, consumed, type Energy, energyText, moneyText, percentText, type Role } from './energy.ts';
import { locale, say } from '../words/index.ts';

const REFRESH_MS = 60_000;
/** Less is no money. */
const UNPRICED_SHOWN_KWH = 0.01;
const PARTS = { day: 'hour', week: 'day', month: 'day', year: 'month' } as const;

const SPANS = [
  { name: 'today', text: say.site.today, unit: 'day', ago: 0 },
  { name: 'yesterday', text: say.site.yesterday, unit: 'day', ago: 1 },
  { name: 'week', text: say.history.week, unit: 'week', ago: 0 },
  { name: 'month', text: say.history.month, unit: 'month', ago: 0 },
  { name: 'year', text: say.history.year, unit: 'year', ago: 0 },
] as const;
type Span = (typeof SPANS)[number];

interface Shown {
  period: string;
  /** In hours, days or months. */
  energy: Energy;
  /** Books of the period before; undefined: not known yet, or not asked for. */
  before: Energy | undefined;
}

/** Buckets are the whole hours, days or months that the time touches. One call at a time: the gateway answers few at once. */
function ask(granularity: 'hour' | 'day' | 'month', fromMs: EpochMs, toMs: EpochMs): Promise<Energy> {
  const times = `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`;
  return callFor('energy', 'GET', `/v3/site/energy?granularity=${granularity}&${times}`);
}

type Tell = (text: string) => void;
/** Done once for each year. */
type Prepare = (period: string, untilMs: EpochMs, tell?: Tell) => Promise<void>;

/**
 * The gateway keeps computed energies for a day, but the first request for a year takes a minute on a slow box: so the
 * months are read first, one by one.
 */
async function readMonths(year: string, untilMs: EpochMs, tell: Tell, left: AbortSignal): Promise<void> {
  const months = Array.from({ length: 12 }, (_, index) => periodLater(`${year}-01`, index));
  const begun = months.map((month) => edgesOf(month, zone.value)).filter(([fromMs]) => fromMs <= untilMs);
  for (const [read, [fromMs, toMs]] of begun.entries()) {
    tell(say.site.monthsRead(read, begun.length));
    await ask('month', fromMs, toMs);
    left.throwIfAborted();
  }
}

async function load(period: string): Promise<Omit<Shown, 'before'>> {
  const [fromMs, toMs] = edgesOf(period, zone.value);
  return { period, energy: await ask(PARTS[unitOf(period) ?? 'day'], fromMs, toMs) };
}

/** For a present period only as much of the one before. */
async function loadBefore(period: string, prepare: Prepare): Promise<Omit<Shown, 'before'>> {
  const passedMs = Math.max(1, gatewayNowMs() - edgesOf(period, zone.value)[0]);
  const [fromMs, toMs] = edgesOf(periodLater(period, -1), zone.value);
  const endMs = Math.min(toMs, fromMs + passedMs);
  await prepare(periodLater(period, -1), endMs);
  const energy = await ask(PARTS[unitOf(period) ?? 'day'], fromMs, endMs);
  return { period, energy };
}

/** The energy of a period, read again while it is shown, then that of the period before where that is compared. */
export function useBooks(
  period: string,
  mode: 'alone' | 'compared',
): { shown: Shown | undefined; error: unknown; progress: string | undefined } {
  const [progress, setProgress] = useState({ period, text: '' });
  const left = useRef(new AbortController());
  // No further requests after another period was chosen.
  useEffect(() => {
    const leaving = new AbortController();
    left.current = leaving;
    return () => leaving.abort();
  }, [period]);
  const prepared = useRef(new Set<string>());
  const prepare: Prepare = async (one, untilMs, tell = () => undefined) => {
    if (unitOf(one) !== 'year' || prepared.current.has(one)) return;
    await readMonths(one, untilMs, tell, left.current.signal);
    prepared.current.add(one);
  };
  const present = useAnswer(async () => {
    if (zone.value === undefined) await loadSite();
    await prepare(period, gatewayNowMs(), (text) => setProgress({ period, text }));
    return load(period);
  }, [period]);
  const shown = present.answer?.period === period ? present.answer : undefined;
  const isBeforeRead = shown !== undefined && mode === 'compared';
  const before = useAnswer(
    () => (isBeforeRead ? loadBefore(period, prepare) : Promise.resolve(undefined)),
    [period, isBeforeRead],
  );
  useRefresh(() => {
    present.refresh();
    before.refresh();
  }, REFRESH_MS);
  return {
    shown: shown && {
      ...shown,
      before: before.answer?.period === period ? before.answer.energy : undefined,
    },
    error: present.error ?? before.error,
    progress: progress.period === period && progress.text !== '' ? progress.text : undefined,
  };
}

/** On the overview. */
export function BooksCard() {
  const [span, setSpan] = useState<Span>(SPANS[0]);
  // The day may end while this is shown.
  const period = periodLater(periodAt(span.unit, slowNowS.value * 1_000, zone.value), -span.ago);
  const { shown, error, progress } = useBooks(period, 'alone');
  return (
    <Card
      title={say.history.energy}
      data-test="energy-books"
      actions={
        <div class="segments" role="group" aria-label={say.history.time}>
          {SPANS.map((one) => (
            <button type="button" key={one.name} aria-pressed={one === span} onClick={() => setSpan(one)}>
              {one.text}
            </button>
          ))}
        </div>
      }
    >
      <Awaited answer={shown} error={error}>
        {progress}
      </Awaited>
      {shown && <Books shown={shown} />}
      <p>
        <a href="#/history/energy">{say.site.otherTimes}</a>
        {' · '}
        <a href="#/history/day">{say.site.powerOfDay}</a>
      </p>
    </Card>
  );
}

/** Names of the hours, days or months of a period, in the site's time zone. */
function momentIn(timeZone: string, period: string): (from: string) => string {
  const formats = {
    day: { hour: '2-digit', minute: '2-digit' },
    week: { weekday: 'short', day: 'numeric', month: 'short' },
    month: { day: 'numeric', month: 'short' },
    year: { month: 'short', year: 'numeric' },
  } as const;
  const format = timesAs(formats[unitOf(period) ?? 'day'], timeZone);
  return (from) => (from === '' ? '' : format.format(Date.parse(from)));
}

/** Links of the buckets: from a year to a month, from a month or week to a day, from a day to the powers of an hour. */
function closerIn(timeZone: string, period: string): (bucket: Energy['buckets'][number]) => string {
  const unit = unitOf(period);
  return ({ from, to }) => {
    const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
    if (unit === 'day') return `#/history/${fromMs / 1_000}-${toMs / 1_000}`;
    return `#/history/energy/${periodAt(unit === 'year' ? 'month' : 'day', fromMs, timeZone)}`;
  };
}

interface Part {
  role: string;
  text: string;
  energyWh: number;
}

export function Books({ shown: { period, energy, before } }: { shown: Shown }) {
  const { total } = energy;
  const flows = total.flows_wh;
  const consumption: Part[] = [
    { role: 'pv', text: say.site.fromSun, energyWh: consumed(flows.pv) },
    { role: 'generator', text: say.site.fromGenerators, energyWh: consumed(flows.generator) },
    { role: 'battery', text: say.site.fromBattery, energyWh: consumed(flows.battery) },
    { role: 'grid', text: say.site.fromGrid, energyWh: consumed(flows.grid) },
    { role: 'unmeasured', text: say.site.unknownOrigin, energyWh: consumed(flows.unmeasured) },
  ];
  const sun: Part[] = [
    { role: 'load', text: say.site.sunUse.consumed, energyWh: consumed(flows.pv) },
    { role: 'battery', text: say.site.intoBattery, energyWh: flows.pv.battery },
    { role: 'grid', text: say.site.sunUse.exported, energyWh: flows.pv.grid },
    { role: 'unmeasured', text: say.site.sunUse.losses, energyWh: flows.pv.losses },
  ];
  return (
    <>
      <BooksHead book={total} />
      <Bar title={say.site.consumption} parts={consumption} />
      <Bar title={say.site.role.pv} parts={sun} />
      <dl class="books-numbers small">
        <Amount
          name={say.site.selfConsumption}
          value={percentText(total.self_consumption)}
          hint={say.site.selfConsumptionHint}
        />
        {total.uses_wh.battery + total.sources_wh.battery > 0 && (
          <>
            <Amount role="battery" name={say.site.charged} value={energyText(total.uses_wh.battery)} />
            <Amount role="battery" name={say.site.discharged} value={energyText(total.sources_wh.battery)} />
          </>
        )}
      </dl>
      {total.money && <MoneyPart money={total.money} currency={energy.currency ?? ''} />}
      <EnergyBars
        energy={energy}
        textOf={momentIn(energy.timezone, period)}
        hrefOf={closerIn(energy.timezone, period)}
      />
      {before && <Before period={period} book={before.total} />}
      <Gaps book={total} />
      <details class="assumption">
        <summary>{say.site.howDecided}</summary>
        <p>{energy.assumption}</p>
        <p>{say.site.daysOf(energy.timezone)}</p>
      </details>
    </>
  );
}

/** How much of the consumption was own, and the four amounts that matter most. @param props.children further amounts */
export function BooksHead({ book, children }: { book: Book; children?: ComponentChildren }) {
  return (
    <div class="books-head">
      <Dial ratio={book.self_sufficiency} />
      <dl class="books-numbers">
        <Amount role="pv" name={say.site.produced} value={energyText(produced(book))} />
        <Amount role="load" name={say.site.used} value={energyText(consumed(book.uses_wh))} />
        <Amount role="grid" name={say.site.exported} value={energyText(book.uses_wh.grid)} />
        <Amount role="grid" name={say.site.imported} value={energyText(book.sources_wh.grid)} />
        {children}
      </dl>
    </div>
  );
}

/** Where there is a tariff. */
function MoneyPart({ money, currency }: { money: NonNullable<Book['money']>; currency: string }) {
  const { import: imported, export: exported } = money.unpriced_kwh;
  const text = (amount: number): string => moneyText(amount, currency);
  return (
    <section class="book" data-test="energy-money">
      <h3>
        {say.site.money.total} <b>{text(money.total_cost)}</b>
      </h3>
      <dl class="books-numbers small">
        <Amount name={say.site.money.cost} value={text(money.import_cost)} />
        {money.standing_charge !== 0 && (
          <Amount name={say.site.money.standing} value={text(money.standing_charge)} />
        )}
        <Amount name={say.site.money.revenue} value={text(money.export_revenue)} />
        <Amount
          name={say.site.money.saved}
          value={text(money.own_consumption_value)}
          hint={say.site.money.savedHint}
        />
      </dl>
      {imported + exported >= UNPRICED_SHOWN_KWH && (
        <p class="gaps">{say.site.money.unpriced(energyText((imported + exported) * 1_000))}</p>
      )}
    </section>
  );
}

const produced = ({ sources_wh: sources }: Book): number => sources.pv + sources.generator;

export function Amount({
  role,
  name,
  value,
  hint,
}: {
  role?: Role;
  name: string;
  value: string;
  hint?: string;
}) {
  const [number = '', unit = ''] = value.split(' ');
  return (
    <div class={hint !== undefined ? 'explained' : undefined}>
      <dt>
        {role !== undefined && <i class={role} aria-hidden="true" />}
        {name}
      </dt>
      <dd>
        <b>
          {number} <small>{unit}</small>
        </b>
        {hint !== undefined && <small>{hint}</small>}
      </dd>
    </div>
  );
}

/** How much of the consumption was not from the grid. */
function Dial({ ratio }: { ratio: number | null }) {
  const [number = '', unit = ''] = percentText(ratio).split(' ');
  return (
    <p class="dial" title={say.site.selfSufficiencyHint}>
      <svg viewBox="0 0 132 132" aria-hidden="true">
        <circle cx="66" cy="66" r="59" />
        {ratio !== null && ratio > 0 && (
          <circle
            class="part"
            cx="66"
            cy="66"
            r="59"
            pathLength={100}
            stroke-dasharray={`${100 * ratio} 100`}
          />
        )}
      </svg>
      <b>
        {number} <small>{unit}</small>
      </b>
      <span>{say.site.selfSufficient}</span>
    </p>
  );
}

/** A present period is compared with as much of the one before. */
function beforeText(period: string): string {
  const unit = unitOf(period) ?? 'day';
  const isNow = period === periodAt(unit, gatewayNowMs(), zone.value);
  const before = periodText(periodLater(period, -1));
  return isNow ? say.site.untilThis[unit](before) : before;
}

/** The period before in a sentence; nothing if nothing was measured then. */
function Before({ period, book }: { period: string; book: Book }) {
  const used = consumed(book.uses_wh);
  if (used + book.sources_wh.pv + book.sources_wh.grid === 0) return null;
  return (
    <p class="hint" data-test="energy-before">
      {say.site.beforeSentence(
        beforeText(period),
        energyText(used),
        energyText(book.sources_wh.pv),
        energyText(book.sources_wh.grid),
      )}
    </p>
  );
}

/** A bar with its parts, and a legend with their amounts. */
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

const LIST = new Intl.ListFormat(locale, { type: 'conjunction' });
/** Shorter gaps say nothing about a day. */
const GAP_SHOWN_S = 600;

function Gaps({ book }: { book: Book }) {
  const gaps = Object.entries(book.gap_s).filter(([, seconds]) => seconds >= GAP_SHOWN_S);
  if (gaps.length === 0) return null;
  return (
    <p class="gaps">
      {say.site.gaps(
        [...groupBy(gaps, ([, seconds]) => spanText(seconds))]
          .map(([span, those]) =>
            say.site.gap(LIST.format(those.map(([role]) => say.site.role[role as Role])), span),
          )
          .join(', '),
      )}
    </p>
  );
}
