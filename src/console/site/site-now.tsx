/** Present power flows beside the energy of the day; without sources a link to their settings. */
import type { ComponentChildren } from 'preact';
import { computed } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { callFor, NoAnswer } from '../api.ts';
import { isAway, isConnected } from '../connection.ts';
import { nowS } from '../gateway-time.ts';
import { may } from '../session.ts';
import { Awaited, ErrorNotice, useAnswer, useRefresh } from '../ui.tsx';
import { BooksCard } from './books.tsx';
import { directionOf, type PowerNow } from './energy.ts';
import { FlowPicture } from './flow-picture.tsx';
import { sentenceOf } from './flow-sentence.ts';
import { say } from '../words/index.ts';

const REFRESH_MS = 5_000;
/** The same as for any value. */
const OLD_AFTER_S = 30;

/** The present flows, read again while they are shown. */
export function usePower() {
  const power = useAnswer(() => callFor<PowerNow>('power', 'GET', '/v3/site/energy/now'), [isAway.value]);
  useRefresh(power.refresh, REFRESH_MS);
  return power;
}

type Read = Pick<ReturnType<typeof usePower>, 'answer' | 'error'>;

/** @param props.children what is used daily, or false */
export function SiteNow({
  answer: power,
  error,
  children,
}: Read & {
  children: ComponentChildren;
}) {
  if (!power)
    return (
      <>
        <Awaited answer={power} error={error} />
        {children}
      </>
    );
  if (power.sources.length === 0)
    return (
      <>
        {may('OWNER') && (
          <p class="hint setup">
            {say.site.noSources((text) => (
              <a href="#/site">{text}</a>
            ))}
          </p>
        )}
        {children}
      </>
    );
  return (
    <div class={children === false ? 'site-now' : 'site-now with-controls'}>
      <Scene power={power} error={error}>
        {may('OWNER') && (
          <p class="hint sources">
            <a href="#/site">{say.site.sources}</a>
          </p>
        )}
      </Scene>
      {children}
      <BooksCard />
    </div>
  );
}

/** The sentence and the picture of what flows. @param props.children below them */
export function Scene({
  power,
  error,
  children,
}: {
  power: PowerNow;
  error: unknown;
  children?: ComponentChildren;
}) {
  const { at } = power;
  const isOld = useMemo(() => computed(() => nowS.value - Date.parse(at) / 1_000 > OLD_AFTER_S), [at]);
  // Values from before the connection was lost, or that are too old, are not shown as current.
  const shown = isConnected.value && !isOld.value ? power : unknown(power);
  const { title, more } = sentenceOf(shown);
  const isNight = shown.roles.some(
    (now) => now.role === 'pv' && now.power_w !== null && directionOf(now) === 0,
  );
  return (
    <section class={isNight ? 'card scene night' : 'card scene'} aria-labelledby="now-title">
      <svg class="land" viewBox="0 0 400 300" preserveAspectRatio="none" aria-hidden="true">
        <path class="far" d="M0 214C60 178 120 190 190 206S330 226 400 186V300H0z" />
        <path class="near" d="M0 246C80 224 150 248 220 252S350 232 400 240V300H0z" />
      </svg>
      <header class="say">
        <h2 id="now-title">{title}</h2>
        <p>{more}</p>
      </header>
      <FlowPicture power={shown} />
      {children}
      {isOld.value && !(error instanceof NoAnswer) && <ErrorNotice error={error} />}
    </section>
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
