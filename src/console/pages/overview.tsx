/** The site at a glance: what needs attention, what flows, its energy, its devices. */
import { useEffect, useState } from 'preact/hooks';
import { attributeTitle, typeName } from '../format.ts';
import { deviceIds, type LiveDevice, liveDevice, loadDevices, watchValues } from '../live.ts';
import { isBlank, mainValues } from '../main-values.ts';
import { AlertChips, StatusBadge, Value } from '../parts/value.tsx';
import { may } from '../session.ts';
import { Attention } from '../site/attention.tsx';
import { SiteNow } from '../site/site-now.tsx';
import { Empty, ErrorNotice, Loading, PageHead, useAction, useAnswer } from '../ui.tsx';

const RELOAD_INTERVAL_MS = 60_000;

/** What a card shows of a device, alerts included, so that a new one is noticed. */
function shownAttributes({ manifest }: LiveDevice): string[] {
  if (!manifest) return [];
  const { state, numbers } = mainValues(manifest);
  const alerts = Object.keys(manifest.telemetry).filter(
    (name) => manifest.telemetry[name]?.type === 'alerts',
  );
  return [...(state === undefined ? [] : [state]), ...numbers, ...alerts];
}

/** The values that cards show of the devices that are known. */
async function watchShown(ids: readonly string[]): Promise<void> {
  const devices = ids.map(liveDevice).filter((live) => live !== undefined);
  await watchValues(new Map(devices.map((live) => [live.device.id, shownAttributes(live)])));
}

export function OverviewPage() {
  const ids = deviceIds.value ?? [];
  // The list itself is read with the stream of everything.
  const { error } = useAnswer(() => watchShown(ids), [ids.join(' ')]);
  const reading = useAction(loadDevices);
  useEffect(() => {
    // Not the first page: others may have made or changed some.
    if (deviceIds.value !== undefined) void reading.start();
    // Devices that say nothing come and go unheard.
    const timer = setInterval(() => void reading.start(), RELOAD_INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  const devices = deviceIds.value?.map(liveDevice).filter((live) => live !== undefined);
  return (
    <>
      <PageHead title="Overview">
        {may('OWNER') && (
          <a class="button primary" href="#/add">
            Add device
          </a>
        )}
      </PageHead>
      <ErrorNotice error={error ?? reading.error} />
      {devices === undefined ? (
        <Loading />
      ) : (
        <>
          <Attention devices={devices} />
          <SiteNow />
          <DeviceList devices={devices} />
        </>
      )}
    </>
  );
}

/** From so many devices on, looking for one takes too long. */
const FILTER_FROM = 9;

function isTroubled({ device }: LiveDevice): boolean {
  return device.connectivity?.status !== 'ONLINE' || (device.raised_alert_names ?? []).length > 0;
}

function Summary({ devices }: { devices: readonly LiveDevice[] }) {
  for (const live of devices) void live.version.value;
  const online = devices.filter(({ device }) => device.connectivity?.status === 'ONLINE').length;
  const alerts = devices.reduce((sum, { device }) => sum + (device.raised_alert_names?.length ?? 0), 0);
  return (
    <p class="summary">
      <span>
        <b>{online}</b> of {devices.length} online
      </span>
      <span class={alerts > 0 ? 'warn' : ''}>
        <b>{alerts}</b> {alerts === 1 ? 'alert' : 'alerts'}
      </span>
    </p>
  );
}

function DeviceList({ devices }: { devices: readonly LiveDevice[] }) {
  const [text, setText] = useState('');
  const [isTroubleOnly, setTroubleOnly] = useState(false);
  // Cards draw themselves anew; which of them are shown changes with what happens only then.
  if (isTroubleOnly) for (const live of devices) void live.version.value;
  const shown = devices.filter(
    (live) =>
      (!isTroubleOnly || isTroubled(live)) &&
      `${live.device.name} ${live.device.slug}`.toLowerCase().includes(text.trim().toLowerCase()),
  );
  const own = devices.filter(({ device }) => device.type !== 'GATEWAY' && device.type !== 'VIRTUAL_UCM');
  return (
    <section class="devices" aria-label="Devices">
      <h2>Devices</h2>
      <Summary devices={devices} />
      {own.length === 0 && (
        <Empty title="No device of yours yet">
          <p>Add the first one: it gets a name, a blueprint and what it needs to connect.</p>
          {may('OWNER') && (
            <a class="button primary" href="#/add">
              Add device
            </a>
          )}
        </Empty>
      )}
      {devices.length >= FILTER_FROM && (
        <div class="filter">
          <input
            type="search"
            value={text}
            placeholder="Find a device"
            aria-label="Find a device"
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <label>
            <input type="checkbox" checked={isTroubleOnly} onChange={() => setTroubleOnly(!isTroubleOnly)} />
            Only offline or with alerts
          </label>
        </div>
      )}
      {shown.length === 0 && own.length > 0 && <Empty title="No device fits" />}
      <ul class="device-grid">
        {shown.map((live) => (
          <DeviceCard live={live} key={live.device.id} />
        ))}
      </ul>
    </section>
  );
}

function kindOf({ device, manifest }: LiveDevice): string {
  if (device.type !== 'STANDALONE' && device.type !== 'LUA') return typeName(device.type);
  return manifest && !isBlank(manifest) ? manifest.display_name : 'No blueprint yet';
}

function DeviceCard({ live }: { live: LiveDevice }) {
  void live.version.value;
  const { device, manifest } = live;
  const main = manifest && mainValues(manifest);
  return (
    <li class="device-card" data-device={device.slug}>
      <a href={`#/devices/${encodeURIComponent(device.slug)}`}>
        <header>
          <h3>{device.name}</h3>
          <StatusBadge live={live} />
        </header>
        <p class="kind">
          {kindOf(live)}
          {main?.state !== undefined && live.values.has(main.state) && (
            <>
              {' · '}
              <Value live={live} name={main.state} />
            </>
          )}
        </p>
        <AlertChips live={live} />
        {main && main.numbers.length > 0 && (
          <dl class="main-values">
            {main.numbers.map((name) => (
              <div key={name}>
                <dt>{attributeTitle(name, manifest?.telemetry[name])}</dt>
                <dd>
                  <Value live={live} name={name} />
                </dd>
              </div>
            ))}
          </dl>
        )}
      </a>
    </li>
  );
}
