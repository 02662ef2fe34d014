/** Present power flows beside the energy of the day; without sources a link to their settings. */
import { computed } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { callFor, NoAnswer } from '../api.ts';
import { isConnected } from '../connection.ts';
import { nowS } from '../gateway-time.ts';
import { may } from '../session.ts';
import { Awaited, Card, ErrorNotice, useAnswer, useRefresh } from '../ui.tsx';
import { BooksCard } from './books.tsx';
import type { PowerNow } from './energy.ts';
import { FlowPicture } from './flow-picture.tsx';
import { say } from '../words/index.ts';

const REFRESH_MS = 5_000;
/** The same as for any value. */
const OLD_AFTER_S = 30;

export function SiteNow() {
  const {
    answer: power,
    error,
    refresh,
  } = useAnswer(() => callFor<PowerNow>('power', 'GET', '/v3/site/energy/now'), [isConnected.value]);
  useRefresh(refresh, REFRESH_MS);
  const at = power?.at;
  const isOld = useMemo(
    () => computed(() => at !== undefined && nowS.value - Date.parse(at) / 1_000 > OLD_AFTER_S),
    [at],
  );
  if (!power) return <Awaited answer={power} error={error} />;
  if (power.sources.length === 0)
    return may('OWNER') ? (
      <p class="hint setup">
        {say.site.noSources((text) => (
          <a href="#/site">{text}</a>
        ))}
      </p>
    ) : null;
  return (
    <div class="site-now">
      <Card
        title={say.site.now}
        actions={
          may('OWNER') && (
            <a class="hint" href="#/site">
              {say.site.sources}
            </a>
          )
        }
      >
        {/* What the gateway said before it was lost, or could not say any more, is not now. */}
        <FlowPicture power={isConnected.value && !isOld.value ? power : unknown(power)} />
        {isOld.value && !(error instanceof NoAnswer) && <ErrorNotice error={error} />}
      </Card>
      <BooksCard />
    </div>
  );
}

function unknown(power: PowerNow): PowerNow {
  return {
    ...power,
    roles: power.roles.map((now) => ({
      ...now,
      power_w: null,
      state_of_charge_percent: null,
      reason: 'stale',
    })),
  };
}
