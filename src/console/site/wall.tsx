/** The site on a tablet at a wall: one screen without a menu, which stays open. */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { NoAnswer } from '../api.ts';
import { deviceIds, liveDevices, watchAll, watchValues } from '../live.ts';
import { slowNowS } from '../gateway-time.ts';
import { useFullScreen } from '../history/full-screen.ts';
import { periodAt } from '../period.ts';
import { go } from '../route.ts';
import { Awaited, Button, Card, Check, ErrorNotice, Loading } from '../ui.tsx';
import { useTitle } from '../ui/components.tsx';
import { adoptStyles } from '../ui/late-styles.ts';
import { clockOf, timesAs, zone } from '../zone.ts';
import { AllWell, Items, useAttention, useAttentionItems } from './attention.tsx';
import { Amount, BooksHead, useBooks } from './books.tsx';
import { moneyText } from './energy.ts';
import { Scene, usePower } from './site-now.tsx';
import { say } from '../words/later.ts';
import styles from './wall.css' with { type: 'text' };

adoptStyles(styles);

const REMEMBERED = 'wall-dark';
const DARK_FROM = 22;
const DARK_UNTIL = 6;

export function WallPage() {
  const [isDarkWanted, setDarkWanted] = useState(localStorage.getItem(REMEMBERED) === 'yes');
  const { place, isFull, toggle } = useFullScreen();
  useTitle(say.devices.wall);
  useScreenOn();
  useEscape(isFull);
  const isListed = deviceIds.value !== undefined;
  // Values of devices are not shown here, so a slow tablet does not receive them.
  useEffect(() => {
    if (isListed) void watchValues(new Map(), 'these');
  }, [isListed]);
  useEffect(() => watchAll, []);
  const hour = Number(clockOf(slowNowS.value * 1_000, zone.value).hour);
  const isDark = isDarkWanted && (hour >= DARK_FROM || hour < DARK_UNTIL);
  return (
    <div class={isDark ? 'wall dark' : 'wall'} ref={place} data-test="wall">
      <h1 class="hidden">{say.devices.wall}</h1>
      <Now />
      <div class="wall-side">
        <Clock />
        <Today />
      </div>
      <footer>
        {isListed ? <Attention /> : <Loading />}
        <Check
          value={isDarkWanted}
          onValue={(isWanted) => {
            setDarkWanted(isWanted);
            localStorage.setItem(REMEMBERED, isWanted ? 'yes' : 'no');
          }}
        >
          {say.wall.dark}
        </Check>
        <Button onClick={toggle}>{isFull ? say.history.leaveFull : say.history.full}</Button>
        <a class="button" href="#/">
          {say.wall.leave}
        </a>
      </footer>
    </div>
  );
}

function Now() {
  const { answer: power, error } = usePower();
  if (!power) return <Awaited answer={power} error={error} />;
  if (power.sources.length > 0) return <Scene power={power} error={error} />;
  return (
    <Card>
      <p>{say.site.noSources((text) => text)}</p>
    </Card>
  );
}

function Clock() {
  const now = slowNowS.value * 1_000;
  return (
    <p class="wall-clock">
      <b>{timesAs({ timeStyle: 'short' }).format(now)}</b>{' '}
      <span>{timesAs({ weekday: 'long', day: 'numeric', month: 'long' }).format(now)}</span>
    </p>
  );
}

function Today() {
  const { shown, error } = useBooks(periodAt('day', slowNowS.value * 1_000, zone.value), 'alone');
  const money = shown?.energy.total.money;
  return (
    <Card title={say.site.today}>
      <Awaited answer={shown} error={error} />
      {shown && (
        <BooksHead book={shown.energy.total}>
          {money && (
            <Amount
              name={say.site.money.total}
              value={moneyText(money.total_cost, shown.energy.currency ?? '')}
            />
          )}
        </BooksHead>
      )}
    </Card>
  );
}

/** What needs a person in one line. */
function Attention() {
  const { items, unread, error, isWell } = useAttentionItems({
    devices: liveDevices(),
    rest: useAttention(),
  });
  return (
    <div class="wall-attention">
      {!(error instanceof NoAnswer) && <ErrorNotice error={error} />}
      {items.length > 0 && <Items items={items} unread={unread} shownMax={1} />}
      {isWell && <AllWell />}
    </div>
  );
}

/** Escape leaves the full screen first, then the page. */
function useEscape(isFull: boolean): void {
  useLayoutEffect(() => {
    const pressed = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape' && !isFull) go('#/');
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [isFull]);
}

/** Keeps the screen on, in browsers that offer it to this page. They let go of it whenever the page is hidden. */
function useScreenOn(): void {
  useEffect(() => {
    let held: WakeLockSentinel | undefined;
    let isLeft = false;
    const hold = (): void => {
      if (document.visibilityState !== 'visible' || !('wakeLock' in navigator)) return;
      navigator.wakeLock.request('screen').then(
        (lock) => {
          held = lock;
          if (isLeft) void lock.release();
        },
        // A battery that is nearly empty is a reason to refuse it.
        () => undefined,
      );
    };
    hold();
    document.addEventListener('visibilitychange', hold);
    return () => {
      isLeft = true;
      document.removeEventListener('visibilitychange', hold);
      void held?.release();
    };
  }, []);
}
