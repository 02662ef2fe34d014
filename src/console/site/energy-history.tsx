/** The energy of any day, month or year, in hours, days or months; the address keeps which. */
import { gatewayNowMs } from '../gateway-time.ts';
import { go } from '../route.ts';
import { Books, useBooks } from './books.tsx';
import type { Energy } from './energy.ts';
import { periodAt, periodLater, periodText, type Unit, unitOf, UNITS } from '../period.ts';
import { Button, Card, download, Empty, ErrorNotice, Loading } from '../ui.tsx';
import { sheetOf, sheetTime } from '../sheet.ts';
import { zone } from '../zone.ts';
import { ENERGY, HistoryHead } from '../history/head.tsx';
import { say } from '../words/index.ts';

const UNIT_TEXT: Readonly<Record<Unit, string>> = {
  day: say.history.day,
  month: say.history.month,
  year: say.history.year,
};

const show = (period: string): void => go(`#/history/${ENERGY}/${period}`);

export function EnergyHistory({ period: text }: { period: string | undefined }) {
  const today = periodAt('day', gatewayNowMs(), zone.value);
  const unit = unitOf(text) ?? 'month';
  const present = periodAt(unit, gatewayNowMs(), zone.value);
  const period = unitOf(text) === undefined ? present : (text ?? present);
  const { shown, error } = useBooks(period);
  /** The finer one lies in the coarser, at now where that is in it. */
  const turn = (other: Unit): void => {
    const length = periodAt(other, 0, 'UTC').length;
    show((today.startsWith(period) ? today : `${period}-01-01`).slice(0, length));
  };
  return (
    <>
      <HistoryHead tab={ENERGY} />
      <Card
        title={periodText(period)}
        data-test="energy-history"
        actions={
          <>
            <div class="segments" role="group" aria-label={say.history.range}>
              {UNITS.map((one) => (
                <button type="button" key={one} aria-pressed={one === unit} onClick={() => turn(one)}>
                  {UNIT_TEXT[one]}
                </button>
              ))}
            </div>
            <Button aria-label={say.history.earlier} onClick={() => show(periodLater(period, -1))}>
              ‹
            </Button>
            <Button
              aria-label={say.history.later}
              disabled={period >= present}
              onClick={() => show(periodLater(period, 1))}
            >
              ›
            </Button>
          </>
        }
      >
        <ErrorNotice error={error} />
        {shown ? (
          <>
            {isEmpty(shown.energy) ? <Empty title={say.site.noEnergy} /> : <Books shown={shown} />}
            <div class="actions">
              <Button
                onClick={() => download(`energy-${period}-sheet.csv`, sheetOfBooks(shown.energy), 'text/csv')}
              >
                {say.history.asSheet}
              </Button>
              <Button onClick={() => download(`energy-${period}.csv`, csvOf(shown.energy), 'text/csv')}>
                {say.history.asCsv}
              </Button>
            </div>
          </>
        ) : (
          error === undefined && <Loading />
        )}
      </Card>
    </>
  );
}

const isEmpty = ({ total }: Energy): boolean =>
  [...Object.values(total.sources_wh), ...Object.values(total.uses_wh)].every((energyWh) => energyWh === 0);

const kWh = (energyWh: number): number => Math.round(energyWh) / 1_000;

/** What an owner counts: the numbers of the page for each hour, day or month. */
function sheetOfBooks({ buckets, timezone }: Energy): string {
  const { role, imported, exported, charged, discharged, consumption, selfSufficiency } = say.site;
  const names = [role.pv, role.generator, imported, exported, charged, discharged, consumption];
  const head = [say.site.from, ...names.map((name) => `${name} kWh`), `${selfSufficiency} %`];
  const rows = buckets.map(({ from, sources_wh: sources, uses_wh: uses, self_sufficiency: ratio }) => [
    sheetTime(Date.parse(from), timezone),
    ...[sources.pv, sources.generator, sources.grid, uses.grid, uses.battery, sources.battery].map(kWh),
    kWh(uses.load + uses.electrolyser + uses.ev_charger),
    ratio === null ? null : Math.round(ratio * 100),
  ]);
  return sheetOf([head, ...rows]);
}

/** Wh by source and use of each hour, day or month. */
function csvOf({ buckets }: Energy): string {
  const [first] = buckets;
  if (!first) return '';
  const head = [
    'from',
    'to',
    ...Object.keys(first.sources_wh).map((name) => `source_${name}_wh`),
    ...Object.keys(first.uses_wh).map((name) => `use_${name}_wh`),
    'self_sufficiency',
    'self_consumption',
  ];
  const rows = buckets.map(({ from, to, ...book }) => [
    from,
    to,
    ...Object.values(book.sources_wh),
    ...Object.values(book.uses_wh),
    book.self_sufficiency,
    book.self_consumption,
  ]);
  return [head, ...rows].map((row) => `${row.map((cell) => cell ?? '').join(',')}\r\n`).join('');
}
