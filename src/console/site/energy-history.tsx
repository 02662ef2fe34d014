/** The energy of any day, week, month or year, in hours, days or months; the address names the period. */
import { isClockUnset } from '../clock-unset.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import { go } from '../route.ts';
import { Books, useBooks } from './books.tsx';
import type { Energy } from './energy.ts';
import { csvOfBooks, sheetOfBooks } from './energy-files.ts';
import { edgesOf, periodAt, periodLater, periodText, type Unit, unitOf, UNITS } from '../period.ts';
import { Awaited, Button, Card, Empty } from '../ui.tsx';
import { download } from '../ui/page-components.tsx';
import { zone } from '../zone.ts';
import { ENERGY, HistoryHead } from '../history/head.tsx';
import { say } from '../words/index.ts';

const show = (period: string): void => go(`#/history/${ENERGY}/${period}`);

export function EnergyHistory({ period: text }: { period: string | undefined }) {
  const unit = unitOf(text) ?? 'month';
  const present = periodAt(unit, gatewayNowMs(), zone.value);
  const period = unitOf(text) === undefined ? present : (text ?? present);
  const { shown, error, progress } = useBooks(period, 'compared');
  /** Another unit shows the period with the same begin, or the present one if that is shown now. */
  const turn = (other: Unit): void => {
    const [fromMs] = edgesOf(period, zone.value);
    show(periodAt(other, period === present ? gatewayNowMs() : fromMs, zone.value));
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
                  {say.history[one]}
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
        <Awaited answer={shown} error={error}>
          {progress}
        </Awaited>
        {shown && (
          <>
            {isEmpty(shown.energy) ? (
              <Empty title={say.site.noEnergy}>{isClockUnset() && say.history.clockUnset}</Empty>
            ) : (
              <Books shown={shown} />
            )}
            <div class="actions">
              <Button
                onClick={() =>
                  download(
                    `energy-${period}-sheet.csv`,
                    sheetOfBooks(shown.energy, gatewayNowMs()),
                    'text/csv',
                  )
                }
              >
                {say.history.asSheet}
              </Button>
              <Button onClick={() => download(`energy-${period}.csv`, csvOfBooks(shown.energy), 'text/csv')}>
                {say.history.asCsv}
              </Button>
            </div>
          </>
        )}
      </Card>
    </>
  );
}

const isEmpty = ({ total }: Energy): boolean =>
  [...Object.values(total.sources_wh), ...Object.values(total.uses_wh)].every((energyWh) => energyWh === 0);
