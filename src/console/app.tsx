/** The console: a client of the HTTP API like any other, in a browser. */
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { HistoryPage } from './history/page.tsx';
import { isConnected } from './connection.ts';
import { loadError, startLive } from './live.ts';
import { AccessPage } from './pages/access.tsx';
import { AddDevicePage } from './pages/add-device.tsx';
import { BlueprintsPage } from './pages/blueprints.tsx';
import { DevicePage } from './pages/device.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { RulePage, RulesPage } from './pages/rules.tsx';
import { ClaimPage, LoginPage, UnreachablePage } from './pages/sign-in.tsx';
import { SitePage } from './pages/site.tsx';
import { SystemPage } from './pages/system.tsx';
import { route } from './route.ts';
import { logOut, look, may, me, state } from './session.ts';
import { Button, Empty, ErrorNotice, Loading, useAction } from './ui.tsx';

const PAGES: readonly [name: string, text: string, icon: string][] = [
  ['', 'Overview', 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z'],
  ['history', 'History', 'M4 4v16h16M7 15l4-5 3 3 5-7'],
  ['rules', 'Rules', 'M5 4h6v6H5zM13 14h6v6h-6zM8 10v4a3 3 0 0 0 3 3h2'],
  ['blueprints', 'Blueprints', 'M6 2h8l5 5v15H6zM14 2v6h5'],
  ['site', 'Site', 'M3 11 12 3l9 8M6 9v11h12V9'],
  ['access', 'Access', 'M12 3l8 4v5c0 5-4 8-8 9-4-1-8-4-8-9V7z'],
  ['system', 'System', 'M3 5h18v11H3zM8 21h8M12 16v5'],
];

/** Pages that belong to another one. */
const PAGE_OF: Readonly<Record<string, string>> = { devices: '', add: '', 'new-rule': 'rules' };

function Page() {
  const [first = '', second, third] = route.value;
  if (first === '') return <OverviewPage />;
  if (first === 'add') return <AddDevicePage />;
  if (first === 'devices' && second !== undefined)
    return <DevicePage key={second} name={second} tab={third ?? 'values'} />;
  if (first === 'history') return <HistoryPage window={second} chosen={third} />;
  if (first === 'rules')
    return second === undefined ? <RulesPage /> : <RulePage key={second} name={second} />;
  // No name of a rule stands here, so that a rule may have any.
  if (first === 'new-rule') return <RulePage key="new" name={undefined} />;
  if (first === 'blueprints') return <BlueprintsPage />;
  if (first === 'site') return <SitePage />;
  if (first === 'access') return <AccessPage />;
  if (first === 'system') return <SystemPage />;
  return (
    <Empty title="There is no such page">
      <a class="button" href="#/">
        To the devices
      </a>
    </Empty>
  );
}

function Navigation() {
  const [first = ''] = route.value;
  const current = PAGE_OF[first] ?? first;
  const leaving = useAction(logOut);
  return (
    <nav class="nav" aria-label="Pages">
      <p class="brand">
        <span class="logo" aria-hidden="true" />
        Energy gateway
      </p>
      <ul>
        {PAGES.map(([name, text, icon]) => (
          <li key={name}>
            <a href={`#/${name}`} aria-current={current === name ? 'page' : undefined}>
              <svg viewBox="0 0 24 24" aria-hidden="true">
                <path d={icon} />
              </svg>
              {text}
            </a>
          </li>
        ))}
      </ul>
      <div class="who">
        <span>
          <b>{me.value?.name}</b>
          <small>{me.value?.role.toLowerCase()}</small>
        </span>
        <Button onClick={() => void leaving.start()}>Log out</Button>
      </div>
    </nav>
  );
}

function Console() {
  useEffect(() => startLive(), []);
  return (
    <div class="shell">
      <a class="skip" href="#content" onClick={skipToContent}>
        To the content
      </a>
      <Navigation />
      <main id="content" tabIndex={-1}>
        {!isConnected.value && <ConnectionLost />}
        {isConnected.value && <ErrorNotice error={loadError.value} />}
        {!may('READONLY') ? <Loading /> : <Page />}
      </main>
    </div>
  );
}

/** The address is the page; a jump inside it must not change it. */
function skipToContent(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

function ConnectionLost() {
  return (
    <p class="connection-lost" role="status">
      No live connection to the gateway. Values below are as old as they say; connecting again…
    </p>
  );
}

function App() {
  switch (state.value) {
    case 'unclaimed':
      return <ClaimPage />;
    case 'logged-out':
      return <LoginPage />;
    case 'unreachable':
      return <UnreachablePage />;
    case 'logged-in':
      return <Console />;
    default:
      return <Loading />;
  }
}

const place = document.getElementById('app');
if (place) render(<App />, place);
void look();
