/** Many devices in a table: sorted, filtered, and only the rows that are in sight. */
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { attributeTitle } from '../format.ts';
import { deviceIds, type LiveDevice, statusVersion, watchAll, watchValues } from '../live.ts';
import { mainValues } from '../main-values.ts';
import { AlertChips, StatusBadge, Value } from '../parts/value.tsx';
import { Empty, ErrorNotice, Select, useAnswer } from '../ui.tsx';
import { Search } from '../ui/search.tsx';
import { choicesOf, kindOf, type ListView, listView, shownDevices, type SortKey } from './list.ts';
import { roomsOf } from './rooms.tsx';
import { useWindow } from './use-window.ts';
import { say } from '../words/index.ts';

/** Rows that are only scrolled past need no values. */
const STAY_MS = 150;

/** Those with a sign are too narrow for their words. */
const COLUMNS: readonly [key: SortKey, text: string, className: string, sign?: string][] = [
  ['status', say.everywhere.status, 'status', '●'],
  ['name', say.everywhere.device, ''],
  ['kind', say.everywhere.whatItIs, 'kind-column'],
  ['trouble', say.frame.alerts, 'alerts-column', '!'],
];

const change = (part: Partial<ListView>): void => {
  listView.value = { ...listView.value, ...part };
};

export function DeviceTable({ devices }: { devices: readonly LiveDevice[] }) {
  void statusVersion.value;
  const shown = shownDevices(devices, listView.value);
  return (
    <>
      <Filters devices={devices} />
      <p class="hint" role="status">
        {shown.length === devices.length
          ? say.devices.countOf(devices.length)
          : say.devices.countOfAll(shown.length, devices.length)}
      </p>
      {shown.length === 0 ? <Empty title={say.devices.noneFits} /> : <Rows shown={shown} />}
    </>
  );
}

function Filters({ devices }: { devices: readonly LiveDevice[] }) {
  const { text, kind, profile, room, status } = listView.value;
  const rooms = roomsOf(devices);
  const { kinds, profiles } = useMemo(
    () => ({
      kinds: choicesOf(devices, (live) => [kindOf(live)]),
      profiles: choicesOf(devices, ({ device }) => device.implemented_profiles),
    }),
    [deviceIds.value],
  );
  const choices = (all: string, values: readonly string[]) => [
    { value: '', text: all },
    ...values.map((value) => ({ value, text: value })),
  ];
  return (
    <div class="filter">
      <Search label={say.devices.find} text={text} onText={(typed) => change({ text: typed })} />
      <Select
        aria-label={say.everywhere.status}
        value={status}
        onValue={(value) => change({ status: value })}
        choices={[
          { value: '', text: say.devices.anyStatus },
          { value: 'trouble', text: say.devices.troubled },
          { value: 'ONLINE', text: say.devices.online },
          { value: 'OFFLINE', text: say.devices.offline },
        ]}
      />
      <Select
        aria-label={say.everywhere.whatItIs}
        value={kind}
        onValue={(value) => change({ kind: value })}
        choices={choices(say.devices.anyKind, kinds)}
      />
      <Select
        aria-label={say.devices.profile}
        value={profile}
        onValue={(value) => change({ profile: value })}
        choices={choices(say.devices.anyProfile, profiles)}
      />
      {(rooms.length > 0 || room !== '') && (
        <Select
          aria-label={say.devices.room}
          value={room}
          onValue={(value) => change({ room: value })}
          choices={choices(say.devices.anyRoom, rooms)}
        />
      )}
    </div>
  );
}

function Rows({ shown }: { shown: readonly LiveDevice[] }) {
  const root = getComputedStyle(document.documentElement);
  // Lower with a mouse than for a finger.
  const rowPx = parseFloat(root.getPropertyValue('--row')) * parseFloat(root.fontSize);
  const { place, begin, end, beforePx, afterPx } = useWindow<HTMLTableSectionElement>(shown.length, rowPx);
  const inSight = shown.slice(begin, end);
  const ids = inSight.map(({ device }) => device.id).join(' ');
  const latest = useRef<string | undefined>(ids);
  latest.current = ids;
  const { error } = useAnswer(async () => {
    await new Promise((stayed) => setTimeout(stayed, STAY_MS));
    if (latest.current === ids)
      await watchValues(new Map(inSight.map((live) => [live.device.id, namesOf(live)])), 'these');
  }, [ids]);
  useEffect(
    () => () => {
      latest.current = undefined;
      watchAll();
    },
    [],
  );
  const { sort, isDown } = listView.value;
  return (
    <div class="device-table">
      <ErrorNotice error={error} />
      <table aria-rowcount={shown.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {COLUMNS.map(([key, text, className, sign]) => (
              <th
                scope="col"
                key={key}
                class={className}
                aria-sort={sort === key ? (isDown ? 'descending' : 'ascending') : 'none'}
              >
                <button
                  type="button"
                  // Devices without trouble never come first.
                  onClick={() => change({ sort: key, isDown: sort === key && key !== 'trouble' && !isDown })}
                >
                  {sign !== undefined && (
                    <span class="sign" aria-hidden="true">
                      {sign}
                    </span>
                  )}
                  <span class="text">{text}</span> {sort === key && (isDown ? '▾' : '▴')}
                </button>
              </th>
            ))}
            <th scope="col" class="values">
              {say.everywhere.values}
            </th>
          </tr>
        </thead>
        <tbody ref={place}>
          {beforePx > 0 && <Space px={beforePx} />}
          {inSight.map((live, index) => (
            <Row live={live} index={begin + index} key={live.device.id} />
          ))}
          {afterPx > 0 && <Space px={afterPx} />}
        </tbody>
      </table>
    </div>
  );
}

const SHOWN_VALUES = 2;

const namesOf = ({ manifest }: LiveDevice): string[] =>
  manifest ? mainValues(manifest).numbers.slice(0, SHOWN_VALUES) : [];

function Space({ px }: { px: number }) {
  return (
    <tr class="space" aria-hidden="true">
      {/* One that spans all columns would make room for those that a phone does not show. */}
      <td style={{ height: `${px}px` }} />
    </tr>
  );
}

function Row({ live, index }: { live: LiveDevice; index: number }) {
  void live.version.value;
  const { device, manifest } = live;
  return (
    <tr aria-rowindex={index + 2} data-device={device.slug}>
      <td class="status">
        <StatusBadge live={live} />
      </td>
      <th scope="row">
        {/* A name that is read from right to left is cut at its end, too. */}
        <a dir="auto" href={`#/devices/${encodeURIComponent(device.slug)}`} title={device.name}>
          {device.name}
        </a>
      </th>
      <td class="kind-column">{kindOf(live)}</td>
      <td class="alerts-column">
        <AlertChips live={live} />
      </td>
      <td class="values">
        {namesOf(live).map((name) => (
          <span class="cell-value" key={name}>
            <small>{attributeTitle(name, manifest?.telemetry[name])}</small> <Value live={live} name={name} />
          </span>
        ))}
      </td>
    </tr>
  );
}
