/** The console: a client of the HTTP API like any other, in a browser. */
// First, so that it runs before anything that fails in an old browser.
import './browser-check.ts';
import { type ComponentChildren, type RefObject, render } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isAway, isConnected, obstacle } from './connection.ts';
import { remoteChangeCount } from './remote-changes.ts';
import { loadError, reconnect, startLive } from './live.ts';
import { LanguageChoice } from './parts/language-choice.tsx';
import { Leaving } from './parts/leaving.tsx';
import { FailedPage, LoginAbove, LoginPage, UnreachablePage } from './pages/sign-in.tsx';
import { isRehearsal } from './rehearsal.ts';
import { holdWhile, leaveBy, route, WALL } from './route.ts';
import { confirm, loginReason, logOut, look, may, me, state, wasLoggedIn } from './session.ts';
import { loadSite, siteName } from './site-name.ts';
import { isOtherZone, zone } from './zone.ts';
import {
  Button,
  ErrorNotice,
  isSomethingTyped,
  lazy,
  Loading,
  PageHead,
  useAction,
  useFollow,
  useStored,
} from './ui.tsx';
import { Settling, useSettling } from './ui/settling.ts';
import { say } from './words/index.ts';

/** Pages of the menu: their text, icon, and the role for which they are of use. */
const PAGES: readonly [name: string, text: string, role: string, icon: string][] = [
  ['', say.frame.overview, 'READONLY', 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z'],
  ['history', say.everywhere.history, 'READONLY', 'M4 4v16h16M7 15l4-5 3 3 5-7'],
  ['alerts', say.frame.alerts, 'READONLY', 'M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 21h4'],
  ['rules', say.frame.rules, 'OWNER', 'M5 4h6v6H5zM13 14h6v6h-6zM8 10v4a3 3 0 0 0 3 3h2'],
  ['blueprints', say.frame.blueprints, 'OWNER', 'M6 2h8l5 5v15H6zM14 2v6h5'],
  ['site', say.frame.site, 'OWNER', 'M3 11 12 3l9 8M6 9v11h12V9'],
  ['access', say.frame.access, 'READONLY', 'M12 3l8 4v5c0 5-4 8-8 9-4-1-8-4-8-9V7z'],
  ['system', say.frame.box, 'OWNER', 'M3 5h18v11H3zM8 21h8M12 16v5'],
];

/** Pages that belong to another one. */
const PAGE_OF: Readonly<Record<string, string>> = { devices: '', add: '', 'new-rule': 'rules' };

const readOverview = () => import('./devices/overview.tsx').then((part) => part.OverviewPage);
// A user who was logged in probably still is, and mostly begins with the overview.
if (wasLoggedIn()) readOverview().catch(() => undefined);

const AccessPage = lazy(() => import('./pages/access.tsx').then((part) => part.AccessPage));
const AddDevicePage = lazy(() => import('./provision/page.tsx').then((part) => part.AddDevicePage));
const ArrangePage = lazy(() => import('./devices/arrange.tsx').then((part) => part.ArrangePage));
const AlertsPage = lazy(() => import('./alerts/page.tsx').then((part) => part.AlertsPage));
const BlueprintsPage = lazy(() => import('./pages/blueprints.tsx').then((part) => part.BlueprintsPage));
const ClaimPage = lazy(() => import('./pages/claim.tsx').then((part) => part.ClaimPage));
const DevicePage = lazy(() => import('./pages/device.tsx').then((part) => part.DevicePage));
const EnergyHistory = lazy(() => import('./site/energy-history.tsx').then((part) => part.EnergyHistory));
const HistoryPage = lazy(() => import('./history/page.tsx').then((part) => part.HistoryPage));
const NewRulePage = lazy(() => import('./rules/new-page.tsx').then((part) => part.NewRulePage));
const OverviewPage = lazy(readOverview);
const ProtocolPage = lazy(() => import('./box/protocol.tsx').then((part) => part.ProtocolPage));
const RulePage = lazy(() => import('./rules/page.tsx').then((part) => part.RulePage));
const RulesPage = lazy(() => import('./rules/list.tsx').then((part) => part.RulesPage));
const SitePage = lazy(() => import('./pages/site.tsx').then((part) => part.SitePage));
const WallPage = lazy(() => import('./site/wall.tsx').then((part) => part.WallPage));
const SystemPage = lazy(() => import('./box/page.tsx').then((part) => part.SystemPage));

function Page() {
  const [first = '', second, third] = route.value;
  if (first === '') return <OverviewPage />;
  if (first === 'add') return <AddDevicePage key={second} kind={second} />;
  if (first === 'devices' && second !== undefined)
    return <DevicePage key={second} name={second} tab={third ?? 'values'} />;
  if (first === 'devices' && may('OWNER')) return <ArrangePage />;
  if (first === 'history' && second === 'energy') return <EnergyHistory period={third} />;
  if (first === 'history') return <HistoryPage window={second} chosen={third} />;
  if (first === WALL) return <WallPage />;
  if (first === 'alerts') return <AlertsPage tab={second} />;
  if (first === 'rules')
    return second === undefined ? <RulesPage /> : <RulePage key={second} name={second} />;
  // This path is a page of its own, so that a rule may have any name.
  if (first === 'new-rule') return <NewRulePage key={`${second} ${third}`} way={second} name={third} />;
  if (first === 'blueprints') return <BlueprintsPage />;
  if (first === 'site') return <SitePage />;
  if (first === 'access') return <AccessPage />;
  if (first === 'system' && second === 'protocol' && may('OWNER')) return <ProtocolPage />;
  if (first === 'system') return <SystemPage tab={second} />;
  return (
    <>
      <PageHead title={say.frame.noSuchPage} />
      <a class="button" href="#/">
        {say.frame.toTheDevices}
      </a>
    </>
  );
}

/** Pages in the bar of a phone; the others open from the menu. */
const IN_BAR = 4;

/** Whether a phone shows all; what was chosen, Escape and a touch elsewhere close it, from the moment that it is seen. */
function useMore(nav: RefObject<HTMLElement | null>): [isOpen: boolean, toggle: () => void] {
  const [isOpen, setOpen] = useState(false);
  useLayoutEffect(() => setOpen(false), [route.value]);
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    const touched = ({ target }: Event): void => {
      if (!nav.current?.contains(target as Node)) setOpen(false);
    };
    const pressed = ({ key }: KeyboardEvent): void => {
      if (key !== 'Escape') return;
      setOpen(false);
      nav.current?.querySelector<HTMLElement>('.more')?.focus();
    };
    document.addEventListener('pointerdown', touched);
    document.addEventListener('keydown', pressed);
    return () => {
      document.removeEventListener('pointerdown', touched);
      document.removeEventListener('keydown', pressed);
    };
  }, [isOpen]);
  return [isOpen, () => setOpen(!isOpen)];
}

function Navigation() {
  const [first = ''] = route.value;
  const current = PAGE_OF[first] ?? first;
  const leaving = useAction(logOut);
  const element = useRef<HTMLElement>(null);
  const [isOpen, toggle] = useMore(element);
  const pages = PAGES.filter(([, , role]) => may(role));
  return (
    <nav
      class={`nav ${pages.length > IN_BAR ? 'tall' : ''} ${isOpen ? 'open' : ''}`}
      aria-label={say.frame.pages}
      ref={element}
    >
      <p class="brand">
        <span class="logo" aria-hidden="true" />
        <span>{siteName()}</span>
      </p>
      <ul>
        {pages.map(([name, text, , icon], index) => (
          <li key={name} class={index < IN_BAR ? '' : 'rest'}>
            <a href={`#/${name}`} aria-current={current === name ? 'page' : undefined}>
              <svg viewBox="0 0 24 24" aria-hidden="true">
                <path d={icon} />
              </svg>
              {text}
            </a>
          </li>
        ))}
      </ul>
      <button
        type="button"
        class={pages.findIndex(([name]) => name === current) < IN_BAR ? 'more' : 'more current'}
        aria-expanded={isOpen}
        onClick={toggle}
      >
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="M5 12h.01M12 12h.01M19 12h.01" />
        </svg>
        {say.frame.more}
      </button>
      <div class="tools">
        <LanguageChoice />
        <div class="who">
          <span>
            <b>{me.value?.name}</b>
            <small>{me.value && say.values.role[me.value.role]}</small>
            {isOtherZone() && <small>{say.frame.timesOf(zone.value ?? '')}</small>}
          </span>
          <Button onClick={() => leaveBy(() => void leaving.start())}>{say.frame.logOut}</Button>
          <ErrorNotice error={leaving.error} />
        </div>
      </div>
    </nav>
  );
}

function Console() {
  const { isSettled, holds } = useSettling();
  useEffect(() => startLive(), []);
  useEffect(reconnect, [state.value]);
  // Without its name the site is called as the product.
  useStored(loadSite);
  // Somebody may have given this user another name or role.
  useFollow(remoteChangeCount, () => void confirm());
  const isWall = route.value[0] === WALL;
  const content = (
    <main id="content" tabIndex={-1} class={isWall ? 'on-wall' : undefined}>
      {!isConnected.value && <LostLine />}
      {isConnected.value && obstacle.value && (
        <Banner>{say.frame.obstacles[obstacle.value](location.origin, location.hostname)}</Banner>
      )}
      {isRehearsal() && <Banner>{say.frame.rehearsal}</Banner>}
      {isConnected.value && <ErrorNotice error={loadError.value} />}
      <Settling.Provider value={holds}>
        <div class={isSettled ? undefined : 'settling'} data-text={say.everywhere.loading}>
          {!may('READONLY') ? <Loading /> : <Page />}
        </div>
      </Settling.Provider>
      {isOtherZone() && <p class="hint other-zone">{say.frame.timesOf(zone.value ?? '')}</p>}
    </main>
  );
  // It fills the screen, without the menu.
  if (isWall) return content;
  return (
    <div class="shell">
      <a class="skip" href="#content" onClick={skipToContent}>
        {say.frame.toTheContent}
      </a>
      <Navigation />
      {content}
      <Leaving />
    </div>
  );
}

/** The address is the page; a jump inside it must not change it. */
function skipToContent(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

/** A page that has just been opened connects within this time. */
const CONNECTING_MS = 1_500;

function LostLine() {
  const [isLate, setLate] = useState(isAway.value);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), CONNECTING_MS);
    return () => clearTimeout(timer);
  }, []);
  return isLate ? <Banner>{say.frame.connectionLost}</Banner> : null;
}

function Banner({ children }: { children: ComponentChildren }) {
  return (
    <p class="connection-lost" role="status">
      {children}
    </p>
  );
}

function App() {
  const isIn = state.value === 'logged-in';
  // A user who logs in again under the same name goes on typing.
  const isWaiting = state.value === 'logged-out' && loginReason.value !== undefined && isSomethingTyped();
  if (isIn || isWaiting)
    return (
      <>
        <div hidden={!isIn} key={me.value?.name}>
          <Console />
        </div>
        {isWaiting && <LoginAbove />}
      </>
    );
  switch (state.value) {
    case 'unclaimed':
      return <ClaimPage />;
    case 'logged-out':
      return <LoginPage />;
    case 'unreachable':
      return <UnreachablePage />;
    case 'failed':
      return <FailedPage />;
    default:
      return <Loading />;
  }
}

const place = document.getElementById('app');
document.title = say.frame.product;
holdWhile(isSomethingTyped);
// Prevents the browser from opening a file that is dropped beside its place.
for (const name of ['dragover', 'drop'])
  addEventListener(name, (event) => {
    if ((event as DragEvent).dataTransfer?.types.includes('Files') === true) event.preventDefault();
  });
if (place) render(<App />, place);
void look();

/** Browsers refuse it on a page whose certificate they do not know; then the console is what it is without. */
function keepShell(): void {
  if (!window.isSecureContext || !('serviceWorker' in navigator)) return;
  navigator.serviceWorker.register('/service-worker.js').catch(() => undefined);
}
keepShell();
