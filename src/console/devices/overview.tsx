/** The site at a glance: what needs attention, what flows, its energy, its devices. */
import { useEffect } from 'preact/hooks';
import { isConnected } from '../connection.ts';
import { attributeTitle } from '../format.ts';
import { deviceIds, type LiveDevice, liveDevices, loadDevices, statusVersion, watchValues } from '../live.ts';
import { mainValues } from '../main-values.ts';
import { isOfBox } from '../translated-manifest.ts';
import { DeviceSign } from './device-sign.tsx';
import { isQuick } from '../parts/quick.ts';
import { AlertChips, StatusBadge, Value } from '../parts/value.tsx';
import { may } from '../session.ts';
import { Attention, useAttention } from '../site/attention.tsx';
import { ForecastPlace } from '../site/forecast-place.tsx';
import { FirstSteps } from '../site/first-steps.tsx';
import type { PowerNow } from '../site/energy.ts';
import { SiteNow, usePower } from '../site/site-now.tsx';
import { Empty, ErrorNotice, Loading, PageHead, useAction, useAnswer } from '../ui.tsx';
import { kindOf, listView } from './list.ts';
import { QuickControls } from './quick-controls.tsx';
import { bestFirst, byRole, type Place } from './roles.ts';
import { chooseByRoom, inRooms, isInRooms, ListTools, roomOf } from './rooms.tsx';
import { DeviceTable } from './table.tsx';
import { say } from '../words/index.ts';

const hasQuick = ({ manifest }: LiveDevice): boolean =>
  Object.values(manifest?.commands ?? {}).some((command) => isQuick(command) && may(command.access_level));

const RELOAD_INTERVAL_MS = 60_000;

/** The attributes that a card shows, with the alerts, so that a new alert is noticed. */
function shownAttributes({ manifest }: LiveDevice): string[] {
  if (!manifest) return [];
  const { state, numbers } = mainValues(manifest);
  const alerts = Object.keys(manifest.telemetry).filter(
    (name) => manifest.telemetry[name]?.type === 'alerts',
  );
  return [...(state === undefined ? [] : [state]), ...numbers, ...alerts];
}

/** The values that cards show. */
async function watchShown(devices: readonly LiveDevice[]): Promise<void> {
  await watchValues(new Map(devices.map((live) => [live.device.id, shownAttributes(live)])));
}

export function OverviewPage() {
  const reading = useAction(loadDevices);
  // The list is read anyway when the connection is back.
  useEffect(() => {
    if (isConnected.value) reading.clear();
  }, [isConnected.value]);
  useEffect(() => {
    // On a return to this page: others may have added or changed devices.
    if (deviceIds.value !== undefined) void reading.start();
    // A device that sends nothing comes and goes without a message.
    const timer = setInterval(() => void reading.start(), RELOAD_INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  const power = usePower();
  const attention = useAttention();
  const devices = liveDevices();
  const own = devices.filter(({ device }) => !isOfBox(device));
  return (
    <>
      <PageHead title={say.frame.overview}>
        {may('OWNER') && (
          <a class="button primary" href="#/add">
            {say.devices.addDevice}
          </a>
        )}
      </PageHead>
      <ErrorNotice error={reading.error} />
      {deviceIds.value === undefined ? (
        <Loading />
      ) : (
        <>
          {own.length === 0 && <FirstSteps known={attention.answer} />}
          <Attention devices={devices} rest={attention} onOffline={showOffline} />
          {own.length > 0 && (
            <SiteNow {...power}>{own.some(hasQuick) && <QuickControls devices={own} />}</SiteNow>
          )}
          {/* Who has a device comes to see how it is. */}
          {own.length > 0 && <FirstSteps known={attention.answer} />}
          <DeviceList devices={devices} own={own} sources={power.answer?.sources ?? []} />
          {/* Last, so that it moves nothing when it comes. */}
          {(power.answer?.sources ?? []).length > 0 && <ForecastPlace />}
        </>
      )}
    </>
  );
}

function showOffline(): void {
  chooseByRoom(false);
  listView.value = { ...listView.value, text: '', kind: '', profile: '', room: '', status: 'OFFLINE' };
  document.querySelector('.devices')?.scrollIntoView();
}

/** From this number on, devices are shown in a table that can be sorted and searched. */
const TABLE_FROM = 13;

function Summary({ devices }: { devices: readonly LiveDevice[] }) {
  void statusVersion.value;
  const online = devices.filter(({ device }) => device.connectivity?.status === 'ONLINE').length;
  const alerts = devices.reduce((sum, { device }) => sum + (device.raised_alert_names?.length ?? 0), 0);
  return (
    <p class="summary">
      <span>{say.devices.someOnline(<b>{online}</b>, devices.length)}</span>
      <span class={alerts > 0 ? 'warn' : ''}>{say.devices.alertCount(alerts, <b>{alerts}</b>)}</span>
    </p>
  );
}

interface ListProps {
  devices: readonly LiveDevice[];
  /** Sources that the site counts, with their devices. */
  sources: PowerNow['sources'];
}

function DeviceList({ devices, own, sources }: ListProps & { own: readonly LiveDevice[] }) {
  return (
    <section class="devices" aria-label={say.everywhere.devices}>
      <h2>{say.everywhere.devices}</h2>
      {own.length > 0 ? (
        <Summary devices={devices} />
      ) : (
        <Empty title={say.devices.noneYet}>
          <p>{say.devices.noneYetText}</p>
          {may('OWNER') && (
            <a class="button primary" href="#/add">
              {say.devices.addDevice}
            </a>
          )}
        </Empty>
      )}
      <ListTools devices={own} />
      {isInRooms(own) ? (
        <DeviceGroups devices={devices} sources={sources} group={groupsByRoom} />
      ) : devices.length >= TABLE_FROM ? (
        <DeviceTable devices={devices} />
      ) : (
        <DeviceGroups devices={devices} sources={sources} group={groupsByRole} />
      )}
    </section>
  );
}

interface DeviceGroup {
  key: string;
  title: string;
  members: { live: LiveDevice; place: Place }[];
}

const groupsByRole = ({ devices, sources }: ListProps): DeviceGroup[] =>
  byRole(devices, sources).map(({ place, devices: members }) => ({
    key: place,
    title: place === 'other' || place === 'box' ? say.devices.place[place] : say.site.role[place],
    members: members.map((live) => ({ live, place })),
  }));

/** The box and its modules stay by themselves. */
function groupsByRoom(props: ListProps): DeviceGroup[] {
  const groups = groupsByRole(props);
  const members = groups.filter(({ key }) => key !== 'box').flatMap((group) => group.members);
  const places = new Map(members.map(({ live, place }) => [live, place]));
  const inOrder = props.devices.filter((live) => places.has(live));
  return [
    ...inRooms(inOrder, roomOf).map(({ room, items }) => ({
      key: `room ${room}`,
      title: room === '' ? say.devices.noRoom : room,
      members: items.map((live) => ({ live, place: places.get(live) ?? 'other' })),
    })),
    ...groups.filter(({ key }) => key === 'box'),
  ];
}

function DeviceGroups({
  devices,
  sources,
  group,
}: ListProps & { group: (props: ListProps) => DeviceGroup[] }) {
  const ids = devices.map(({ device }) => device.id).join(' ');
  const { error } = useAnswer(() => watchShown(devices), [ids]);
  return (
    <>
      <ErrorNotice error={error} />
      <div class="device-groups">
        {group({ devices, sources }).map(({ key, title, members }) => (
          <section class="device-group" key={key}>
            <h3>{title}</h3>
            <ul>
              {members.map(({ live, place }) => (
                <DeviceCard live={live} place={place} key={live.device.id} />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </>
  );
}

function DeviceCard({ live, place }: { live: LiveDevice; place: Place }) {
  void live.version.value;
  const { device, manifest } = live;
  const main = manifest && mainValues(manifest);
  const [first, ...others] = bestFirst(live, main?.numbers ?? [], place);
  const valuesOf = (names: readonly string[], className: string) =>
    names.length > 0 && (
      <dl class={className}>
        {names.map((name) => (
          <div key={name}>
            <dt>{attributeTitle(name, manifest?.telemetry[name])}</dt>
            <dd>
              <Value live={live} name={name} />
            </dd>
          </div>
        ))}
      </dl>
    );
  return (
    <li class="device-card" data-device={device.slug}>
      <a href={`#/devices/${encodeURIComponent(device.slug)}`}>
        <DeviceSign live={live} place={place} />
        <header>
          <h4>{device.name}</h4>
          <p class="kind">
            <StatusBadge live={live} /> {kindOf(live)}
            {main?.state !== undefined && live.values.has(main.state) && (
              <>
                {' · '}
                <Value live={live} name={main.state} />
              </>
            )}
          </p>
        </header>
        {valuesOf(first === undefined ? [] : [first], 'first-value')}
        <AlertChips live={live} />
        {valuesOf(others, 'main-values')}
      </a>
    </li>
  );
}
