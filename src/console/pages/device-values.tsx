/** Telemetry, properties and alerts of a device. */
import { useState } from 'preact/hooks';
import { alertTitle } from '../alert-title.ts';
import { attributeTitle, showValue } from '../format.ts';
import type { LiveDevice } from '../live.ts';
import { groupValues } from '../main-values.ts';
import { isFound } from '../found.ts';
import { FindValue } from '../parts/find-value.tsx';
import { Sparkline, useScales, WithSparklines } from '../parts/sparkline.tsx';
import { UNDECLARED, Value } from '../parts/value.tsx';
import { useDevice, usePart } from '../parts/whole-device.ts';
import { may } from '../session.ts';
import type { Device } from '../shapes.ts';
import { Card, Empty } from '../ui.tsx';
import { Fact } from '../ui/page-pieces.tsx';
import { say } from '../words/index.ts';

export function ValuesTab({ live }: { live: LiveDevice }) {
  const { device, manifest } = useDevice(live);
  const isSilent = usePart(live, ({ values }) => values.size === 0);
  const all = manifest ? groupValues(manifest) : [];
  const [text, setText] = useState('');
  const groups = all.flatMap(({ title, names }) => {
    const found = names.filter((name) => isFound(attributeTitle(name, manifest?.telemetry[name]), text));
    return found.length > 0 ? [{ title, names: found }] : [];
  });
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
        <WithSparklines live={live}>
          <FindValue count={all.flatMap(({ names }) => names).length} text={text} onText={setText} />
          {groups.length === 0 && all.length > 0 && <Empty title={say.devices.noValueFits} />}
          <div class="columns">
            {groups.map(({ title, names }) => (
              <Card title={title === '' ? say.everywhere.values : title} key={title}>
                <Facts live={live} names={names} />
              </Card>
            ))}
          </div>
        </WithSparklines>
      )}
      <Properties live={live} />
    </>
  );
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
        const title = attributeTitle(name, live.manifest?.telemetry[name]);
        return (
          <Fact name={title} key={name}>
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
      <dl class="facts wide">
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
