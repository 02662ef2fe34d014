/** A device at present: its main value and its controls, then alerts, all values and properties. */
import { useState } from 'preact/hooks';
import { alertTitle } from '../alert-title.ts';
import { attributeTitle, showValue } from '../format.ts';
import type { LiveDevice } from '../live.ts';
import { DeviceControls } from '../devices/quick-controls.tsx';
import { bestFirst, type Counted } from '../devices/roles.ts';
import { groupValues, mainValues } from '../main-values.ts';
import { matchesSearch } from '../text-search.ts';
import { FindValue } from '../parts/find-value.tsx';
import { Sparkline, useScales, WithSparklines } from '../parts/sparkline.tsx';
import { UNDECLARED, Value } from '../parts/value.tsx';
import { useDevice, usePart } from '../parts/whole-device.ts';
import { may } from '../session.ts';
import type { Device, Manifest } from '../shapes.ts';
import { Card, Empty } from '../ui.tsx';
import { Fact } from '../ui/page-components.tsx';
import { Hero } from './device-hero.tsx';
import { say } from '../words/index.ts';

/** The main value and those beside it. */
const HERO_VALUES = 4;

export function ValuesTab({ live, counted }: { live: LiveDevice; counted: Counted }) {
  const { device, manifest } = useDevice(live);
  const isSilent = usePart(live, ({ values }) => values.size === 0);
  const all = manifest ? groupValues(manifest) : [];
  const [text, setText] = useState('');
  const groups = all.flatMap(({ title, names }) => {
    const found = names.filter((name) =>
      matchesSearch(attributeTitle(name, manifest?.telemetry[name]), text),
    );
    return found.length > 0 ? [{ title, names: found }] : [];
  });
  const names = manifest ? heroNames(live, manifest, counted) : [];
  const base = `#/devices/${encodeURIComponent(device.slug)}`;
  return (
    <>
      <Alerts live={live} />
      {all.length === 0 && (
        <Empty title={say.devices.noValues}>
          <p>{say.devices.noValuesText}</p>
          {may('OWNER') && device.type !== 'GATEWAY' && (
            <a class="button primary" href={`${base}/settings`}>
              {say.devices.assignBlueprint}
            </a>
          )}
        </Empty>
      )}
      {all.length > 0 && isSilent && <NothingYet device={device} base={base} />}
      {!isSilent && (
        <WithSparklines live={live} outstanding={names[0]}>
          {counted.place !== 'box' && (
            <div class="device-now">
              {names.length > 0 && <Hero live={live} place={counted.place} names={names} />}
              <DeviceControls live={live} />
            </div>
          )}
          <FindValue count={all.flatMap(({ names }) => names).length} text={text} onText={setText} />
          {groups.length === 0 && all.length > 0 && <Empty title={say.devices.noValueFits} />}
          <div class="value-groups">
            {groups.map(({ title, names }) => (
              <Card title={title === '' ? say.everywhere.values : title} key={title}>
                <Facts live={live} names={names} />
              </Card>
            ))}
            <Properties live={live} />
          </div>
        </WithSparklines>
      )}
      {isSilent && <Properties live={live} />}
    </>
  );
}

const isNumber = (declared: Manifest['telemetry'][string] | undefined): boolean =>
  declared?.type === 'float' || declared?.type === 'integer';

/** Numbers by which the site counts the device, then those that say most of it; those never sent last. */
function heroNames({ values }: LiveDevice, manifest: Manifest, { place, names }: Counted): string[] {
  const { numbers } = mainValues(manifest);
  const counted = names.filter((name) => isNumber(manifest.telemetry[name]));
  const all = [...counted, ...bestFirst({ values }, numbers, place)];
  return [...new Set(all)]
    .toSorted((a, b) => Number(values.has(b)) - Number(values.has(a)))
    .slice(0, HERO_VALUES);
}

/** @param base address of the device's page */
function NothingYet({ device, base }: { device: Device; base: string }) {
  const isOnline = device.connectivity?.status === 'ONLINE';
  const hasScript = device.type === 'LUA';
  return (
    <Empty title={say.devices.nothingYet}>
      <p>
        {isOnline
          ? say.devices.connectedText
          : hasScript
            ? say.devices.notReachedText
            : say.devices.notConnectedText}
      </p>
      {!isOnline && hasScript && may('USER') && (
        <a class="button" href={`${base}/logs`}>
          {say.devices.logs}
        </a>
      )}
      {!isOnline && !hasScript && may('OWNER') && (
        <a class="button" href={`${base}/settings`}>
          {say.devices.connectionConfiguration}
        </a>
      )}
    </Empty>
  );
}

function Facts({ live, names }: { live: LiveDevice; names: readonly string[] }) {
  const scales = useScales(live, names);
  return (
    <dl class="facts lined">
      {names.map((name) => {
        const declared = live.manifest?.telemetry[name];
        const title = attributeTitle(name, declared);
        return (
          <Fact name={title} class={isNumber(declared) ? undefined : 'unlined'} key={name}>
            <Sparkline live={live} name={name} title={title} scale={scales.get(name)} />{' '}
            <Value live={live} name={name} />
          </Fact>
        );
      })}
    </dl>
  );
}

function Properties({ live }: { live: LiveDevice }) {
  const { device, manifest } = live;
  const known = Object.entries(device.properties ?? {}).filter(([, value]) => value !== null);
  if (known.length === 0) return null;
  return (
    <Card title={say.devices.properties}>
      <dl class="facts">
        {known.map(([name, value]) => {
          const declared = manifest?.properties[name];
          const { text, unit } = showValue(value, declared, manifest, name);
          return (
            <Fact name={attributeTitle(name, declared)} key={name}>
              {text} {unit}
            </Fact>
          );
        })}
      </dl>
    </Card>
  );
}

function Alerts({ live }: { live: LiveDevice }) {
  const names = live.device.raised_alert_names ?? [];
  if (names.length === 0) return null;
  return (
    <Card title={names.length === 1 ? say.devices.alert : say.frame.alerts}>
      <ul class="alerts">
        {names.map((name) => (
          <AlertItem live={live} name={name} key={name} />
        ))}
      </ul>
    </Card>
  );
}

function AlertItem({ live, name }: { live: LiveDevice; name: string }) {
  const alert = live.manifest?.alerts[name];
  const { severity = UNDECLARED, troubleshooting = [], conditions = [], components = [] } = alert ?? {};
  return (
    <li class={`alert ${severity}`}>
      <p>
        <span class={`chip ${severity}`}>{say.values.severity[severity]}</span>{' '}
        <b>{alertTitle(live, name)}</b>
        {alert?.code !== undefined && <small> {alert.code}</small>}
      </p>
      {alert?.description !== undefined && <p>{alert.description}</p>}
      {conditions.length > 0 && <p class="hint">{say.devices.raisedWhen(conditions.join(' '))}</p>}
      {components.length > 0 && <p class="hint">{say.devices.parts(components.join(', '))}</p>}
      {troubleshooting.length > 0 && (
        <ol>
          {troubleshooting.map((step) => (
            <li>{step}</li>
          ))}
        </ol>
      )}
    </li>
  );
}
