/** One device: everything about it, in tabs. */
import type { ComponentType } from 'preact';
import { useRef } from 'preact/hooks';
import type { EnergySourcesOnWire } from '../../capabilities/energy/schema.ts';
import { callFor } from '../api.ts';
import { isConnected } from '../connection.ts';
import { type Counted, countedOf } from '../devices/roles.ts';
import { ageText, momentText, typeName } from '../format.ts';
import { slowNowS } from '../gateway-time.ts';
import { liveDevice, type LiveDevice } from '../live.ts';
import { isOfBox } from '../translated-manifest.ts';
import { DeviceSign, placeShown } from '../devices/device-sign.tsx';
import { isInUse, UnlessGone } from '../parts/gone.tsx';
import { AlertChips, StatusBadge } from '../parts/value.tsx';
import { useDevice, usePart, useWholeDevice } from '../parts/whole-device.ts';
import { may } from '../session.ts';
import { Awaited, lazy, Notice, PageHead, useAnswer } from '../ui.tsx';
import { type Tab, tabAt, Tabs } from '../ui/page-components.tsx';
import { drawable, isBlank } from '../main-values.ts';
import { ChartTab } from './device-chart.tsx';
import { CommandsTab } from './device-commands.tsx';
import { ConfigurationTab } from './device-configuration.tsx';
import { LogsTab } from './device-logs.tsx';
import { SettingsTab } from './device-settings.tsx';
import { ValuesTab } from './device-values.tsx';
import { say } from '../words/index.ts';

interface Shown {
  live: LiveDevice;
  counted: Counted;
  onChanged: () => void;
}

const DocumentsTab = lazy<Shown>(() => import('../documents/tab.tsx').then((part) => part.DocumentsTab));

interface DeviceTab extends Tab {
  isEmpty?: boolean;
  Content: ComponentType<Shown>;
}

/** Tabs that have something in them for this device and this user. */
function tabsOf({ manifest }: LiveDevice): DeviceTab[] {
  const isDrawable = manifest !== undefined && drawable(manifest).length > 0;
  const hasNone = (part: Record<string, { access_level?: string }> = {}): boolean =>
    !Object.values(part).some(({ access_level: level }) => may(level));
  const { commands, configuration } = manifest ?? {};
  const tabs: DeviceTab[] = [
    { key: 'values', text: say.devices.now, Content: ValuesTab },
    { key: 'chart', text: say.devices.chart, isEmpty: !isDrawable, Content: ChartTab },
    { key: 'commands', text: say.devices.commands, isEmpty: hasNone(commands), Content: CommandsTab },
    { key: 'logs', text: say.devices.logs, role: 'USER', Content: LogsTab },
    {
      key: 'configuration',
      text: say.devices.configuration,
      isApart: true,
      isEmpty: hasNone(configuration),
      Content: ConfigurationTab,
    },
    { key: 'documents', text: say.devices.documents, isApart: true, Content: DocumentsTab },
    { key: 'settings', text: say.devices.settings, role: 'OWNER', isApart: true, Content: SettingsTab },
  ];
  return tabs.filter(({ isEmpty }) => isEmpty !== true);
}

const BACK = { href: '#/', text: say.frame.overview };

/** The tab that the address names; one that another blueprint has emptied stays while the user types in it. */
function useTab(tabs: readonly DeviceTab[], wanted: string): DeviceTab | undefined {
  const shown = useRef<DeviceTab | undefined>(undefined);
  if (shown.current?.key !== wanted || !isInUse()) shown.current = tabAt(tabs, wanted);
  return shown.current;
}

export function DevicePage({ name, tab }: { name: string; tab: string }) {
  const { answer: live, error, again } = useWholeDevice(() => Promise.resolve(name), [name]);
  const sources = useAnswer(readSources, []);
  if (!live || (!sources.answer && sources.error === undefined))
    return (
      <>
        <PageHead title={name} back={BACK} />
        <Awaited answer={live} error={error} />
      </>
    );
  // Without them the device is shown as one that the site does not count.
  const counted = countedOf(live.device, sources.answer?.items ?? []);
  return (
    <Parts
      {...{ live, tab }}
      counted={{ ...counted, place: placeShown(live, counted.place) }}
      onChanged={again}
    />
  );
}

const readSources = (): Promise<EnergySourcesOnWire> =>
  callFor('energy_sources', 'GET', '/v3/site/energy/sources');

function Parts({
  live,
  counted,
  tab,
  onChanged,
}: {
  live: LiveDevice;
  counted: Counted;
  tab: string;
  onChanged: () => void;
}) {
  const { device, manifest } = useDevice(live);
  const isGone = usePart(live, (one) => one.isGone);
  const tabs = tabsOf(live);
  const current = useTab(tabs, tab);
  return (
    <>
      <PageHead
        title={device.name}
        sign={<DeviceSign live={live} place={counted.place} />}
        part={current?.text}
        back={BACK}
      >
        <StatusBadge live={live} />
      </PageHead>
      <p class="kind">
        {typeName(device.type)}
        {manifest &&
          !isOfBox(device) &&
          ` · ${isBlank(manifest) ? say.devices.withoutBlueprint : manifest.display_name}`}
      </p>
      <UnlessGone isGone={isGone} text={say.devices.isDeleted}>
        {!isGone && <AlertChips live={live} />}
        {!isGone && <Absence live={live} />}
        <Tabs
          name={say.devices.partsOfDevice}
          base={`#/devices/${encodeURIComponent(device.slug)}`}
          tabs={tabs}
          current={current}
          wanted={manifest && tab}
        />
        {current && <current.Content {...{ live, counted, onChanged }} />}
      </UnlessGone>
    </>
  );
}

/** Why a device is silent, as far as that is known, and where to look. */
function Absence({ live }: { live: LiveDevice }) {
  const isOnline = usePart(live, ({ device }) => device.connectivity?.status === 'ONLINE');
  const lastS = usePart(live, ({ values }) =>
    Math.max(0, ...[...values.values()].map(({ timestampS }) => timestampS)),
  );
  // Without a connection to the gateway the status is not known.
  if (isOnline || !isConnected.value || live.device.type === 'GATEWAY') return null;
  const moduleId = live.device.communication?.upstream_id;
  const module = moduleId === undefined ? undefined : liveDevice(moduleId)?.device;
  const isModuleAway = module !== undefined && module.connectivity?.status !== 'ONLINE';
  const why = isModuleAway
    ? say.devices.moduleAway(module.name)
    : module
      ? say.devices.scriptSilent
      : lastS === 0
        ? say.devices.noValueEver
        : say.devices.lookAtPower;
  return (
    <Notice kind="warning">
      {lastS > 0 &&
        `${say.devices.lastValue(ageText(Math.max(0, slowNowS.value - lastS)), momentText(lastS * 1_000))} `}
      {why}
    </Notice>
  );
}
