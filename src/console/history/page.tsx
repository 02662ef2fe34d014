/** The history of any values of the site; the address keeps the stretch of time and what is drawn. */
import { groupBy } from '../group-by.ts';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { EpochS } from '../../lib/time.ts';
import type { EnergySourcesOnWire } from '../../capabilities/energy/schema.ts';
import { callFor } from '../api.ts';
import { attributeTitle } from '../format.ts';
import { deviceIds, type LiveDevice, liveDevice, liveDevices, watchAll, watchValues } from '../live.ts';
import { drawable, mainValues } from '../main-values.ts';
import { go } from '../route.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import { Button, ErrorNotice, Loading, SelectField, useAnswer } from '../ui.tsx';
import { HistoryHead } from './head.tsx';
import type { Chosen } from './chosen.ts';
import { HistoryView } from './view.tsx';
import { zone } from '../zone.ts';
import { windowOf } from './window.ts';
import { say } from '../words/index.ts';

const BETWEEN_SERIES = '~';
const BETWEEN_NAMES = '.';
/** With the state of charge as many as there are colours. */
const POWERS_MAX = 5;

/** `<device>.<attribute>~…`; what is not there any more is left out. */
function chosenOf(text: string): Chosen[] {
  return text.split(BETWEEN_SERIES).flatMap((one): Chosen[] => {
    const at = one.indexOf(BETWEEN_NAMES);
    const live = at < 0 ? undefined : liveDevice(one.slice(0, at));
    const attribute = one.slice(at + 1);
    return live && drawableOf(live).includes(attribute) ? [{ live, attribute }] : [];
  });
}

const drawableOf = ({ manifest }: LiveDevice): string[] => (manifest ? drawable(manifest) : []);

export function HistoryPage({
  window,
  chosen: text,
}: {
  window: string | undefined;
  chosen: string | undefined;
}) {
  useEffect(() => {
    // Charts are read; no live values are needed.
    void watchValues(new Map(), 'these');
    return watchAll;
  }, []);
  const able = useMemo(() => liveDevices().filter((live) => drawableOf(live).length > 0), [deviceIds.value]);
  const add = useRef((_one: Chosen): void => undefined);
  const adding = useMemo(() => <AddSeries devices={able} onAdd={(one) => add.current(one)} />, [able]);
  const isToChoose = text === undefined && deviceIds.value !== undefined;
  const first = useAnswer(
    async () =>
      isToChoose ? readFirst(able, windowOf(window, gatewayNowMs() / 1_000, zone.value).fromS) : undefined,
    [isToChoose],
  );
  const isAsked = first.answer === undefined && first.error === undefined;
  if (deviceIds.value === undefined || (isToChoose && isAsked))
    return (
      <>
        <HistoryHead tab="" />
        <Loading />
      </>
    );
  const chosen = text === undefined ? (first.answer ?? []) : chosenOf(text);
  const show = (series: readonly Chosen[], stretch = window): void => {
    const names = series.map(({ live, attribute }) => `${live.device.id}${BETWEEN_NAMES}${attribute}`);
    go(`#/history/${stretch ?? 'hour'}/${names.join(BETWEEN_SERIES) || BETWEEN_SERIES}`);
  };
  add.current = ({ live, attribute }) => {
    if (!chosen.some((one) => one.live === live && one.attribute === attribute))
      show([...chosen, { live, attribute }]);
  };
  return (
    <>
      <HistoryHead tab="" />
      {isToChoose && <ErrorNotice error={first.error} />}
      <HistoryView
        chosen={chosen}
        window={window}
        onWindow={(stretch) => show(chosen, stretch)}
        onRemove={(gone) => show(chosen.filter((other) => other !== gone))}
      >
        {adding}
      </HistoryView>
    </>
  );
}

type Sources = EnergySourcesOnWire['items'];

/** The first of each role before the second of any. */
function inTurn(sources: Sources): Sources {
  const turnOf = ({ role }: Sources[number], place: number): number =>
    sources.slice(0, place).filter((other) => other.role === role).length;
  return sources
    .map((source, place) => ({ source, turn: turnOf(source, place) }))
    .toSorted((a, b) => a.turn - b.turn)
    .map(({ source }) => source);
}

const nameIn = (source: Sources[number], part: 'power' | 'state_of_charge'): string[] =>
  source[part] === null ? [] : [`${source.device_id}${BETWEEN_NAMES}${source[part]}`];

/** Among more devices the first value says less. */
const DEVICES_LOOKED_AT = 30;

/**
 * The first choice: the site's powers and state of charge, else the first value of a device. Values measured since then
 * come first, then those that were ever measured.
 */
async function readFirst(devices: readonly LiveDevice[], sinceS: EpochS): Promise<Chosen[]> {
  const { items } = await callFor<EnergySourcesOnWire>('energy_sources', 'GET', '/v3/site/energy/sources');
  const sources = inTurn(items);
  const energy = (part: 'power' | 'state_of_charge'): Chosen[] =>
    chosenOf([...new Set(sources.flatMap((source) => nameIn(source, part)))].join(BETWEEN_SERIES));
  const main = devices.slice(0, DEVICES_LOOKED_AT).flatMap((live): Chosen[] => {
    const [attribute] = live.manifest ? mainValues(live.manifest).numbers : [];
    return attribute === undefined ? [] : [{ live, attribute }];
  });
  const [powers, charges] = [energy('power'), energy('state_of_charge')];
  const names = groupBy([...powers, ...charges, ...main], ({ live }) => live.device.id);
  await watchValues(new Map([...names].map(([id, those]) => [id, those.map(({ attribute }) => attribute)])));
  for (const leastS of [sinceS, 0, -1]) {
    const told = (all: readonly Chosen[], most: number): Chosen[] =>
      all
        .filter(({ live, attribute }) => (live.values.get(attribute)?.timestampS ?? -1) >= leastS)
        .slice(0, most);
    const site = [...told(powers, POWERS_MAX), ...told(charges, 1)];
    const found = site.length > 0 ? site : told(main, 1);
    if (found.length > 0) return found;
  }
  return [];
}

function AddSeries({ devices, onAdd }: { devices: readonly LiveDevice[]; onAdd: (one: Chosen) => void }) {
  const [id, setId] = useState('');
  const [attribute, setAttribute] = useState('');
  const live = devices.find(({ device }) => device.id === id) ?? devices[0];
  if (!live) return null;
  const names = drawableOf(live);
  return (
    <div class="energy-source">
      <SelectField
        label={say.everywhere.device}
        name="device"
        value={live.device.id}
        onValue={(chosen) => {
          setId(chosen);
          setAttribute('');
        }}
        choices={devices.map(({ device }) => ({ value: device.id, text: device.name }))}
      />
      <SelectField
        label={say.history.drawAlso}
        name="attribute"
        value={attribute}
        onValue={setAttribute}
        choices={[
          { value: '', text: say.everywhere.choose },
          ...names.map((name) => ({
            value: name,
            text: attributeTitle(name, live.manifest?.telemetry[name]),
          })),
        ]}
      />
      {/* By itself a choice would be taken with each arrow key, on the way to the one that is wanted. */}
      <div class="field">
        <Button
          disabled={attribute === ''}
          onClick={() => {
            onAdd({ live, attribute });
            setAttribute('');
          }}
        >
          {say.everywhere.add}
        </Button>
      </div>
    </div>
  );
}
