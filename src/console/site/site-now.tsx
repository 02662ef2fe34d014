/** What flows now beside the energy of the day; where nothing says what the devices are, how to say it. */
import { useEffect } from 'preact/hooks';
import { call } from '../api.ts';
import { isConnected } from '../connection.ts';
import { may } from '../session.ts';
import { Card, ErrorNotice, useAnswer } from '../ui.tsx';
import { BooksCard } from './books.tsx';
import type { PowerNow } from './energy.ts';
import { FlowPicture } from './flow-picture.tsx';
import { say } from '../words/index.ts';

const REFRESH_MS = 5_000;

export function SiteNow() {
  const { answer, error, again } = useAnswer(
    () => call<{ power: PowerNow }>('GET', '/v3/site/energy/now'),
    [isConnected.value],
  );
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && again(), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  if (!answer) return <ErrorNotice error={error} />;
  const { power } = answer;
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
        {/* What the gateway said before it was lost is not now. */}
        <FlowPicture power={isConnected.value ? power : unknown(power)} />
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
