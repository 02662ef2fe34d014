/** The commissioning protocol of a site: what was handed over, to print, sign and keep. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { alertTitle } from '../alert-title.ts';
import { momentText } from '../format.ts';
import { textOfNumber } from '../typed-number.ts';
import { site } from '../site-name.ts';
import { Button, Card, ErrorNotice, Loading, PageHead, useAnswer } from '../ui.tsx';
import { adoptStyles } from '../ui/late-styles.ts';
import { Fact } from '../ui/page-components.tsx';
import {
  blueprintText,
  type Line,
  type Protocol,
  type ProtocolDevice,
  readProtocol,
} from './protocol-read.ts';
import type { Target } from '../shapes.ts';
import { say } from '../words/later.ts';
import styles from './protocol.css' with { type: 'text' };

adoptStyles(styles);

/** Lines for tests that no gateway sees: an earth resistance, a switch that was pulled. */
const EMPTY_TESTS = ['1', '2', '3', '4'];

export function ProtocolPage() {
  const [progress, setProgress] = useState({ read: 0, all: 0 });
  const { answer, error, again } = useAnswer(
    () => readProtocol((read, all) => setProgress({ read, all })),
    [],
  );
  return (
    <div class="protocol-page">
      <PageHead title={say.protocol.title} back={{ href: '#/system', text: say.frame.box }}>
        {answer && <Button onClick={again}>{say.protocol.readAgain}</Button>}
        {answer && (
          <Button kind="primary" onClick={() => print()}>
            {say.protocol.print}
          </Button>
        )}
      </PageHead>
      <ErrorNotice error={error} />
      {!answer && error === undefined && (
        <Loading>{progress.all > 0 ? say.protocol.reading(progress.read, progress.all) : undefined}</Loading>
      )}
      {answer && <Paper protocol={answer} />}
    </div>
  );
}

function Paper({ protocol }: { protocol: Protocol }) {
  return (
    <>
      <SiteCard protocol={protocol} />
      {protocol.devices.map((one) => (
        <DeviceCard one={one} key={one.device.id} />
      ))}
      <HandTests />
      <People protocol={protocol} />
      <Data protocol={protocol} />
      <Signatures />
    </>
  );
}

function SiteCard({ protocol: { atMs, version, devices } }: { protocol: Protocol }) {
  const stored = site.value;
  const { latitude, longitude, name: place = '' } = stored?.location ?? {};
  const online = devices.filter(({ device }) => device.connectivity?.status === 'ONLINE').length;
  return (
    <Card title={say.frame.site}>
      <dl class="facts">
        <Fact name={say.everywhere.name}>{stored?.name}</Fact>
        {place !== '' && <Fact name={say.site.place}>{place}</Fact>}
        {latitude !== undefined && longitude !== undefined && (
          <Fact name={say.protocol.coordinates}>
            {textOfNumber(latitude)}° / {textOfNumber(longitude)}°
          </Fact>
        )}
        <Fact name={say.site.timeZone}>{stored?.timezone}</Fact>
        <Fact name={say.protocol.gatewayVersion}>{version}</Fact>
        <Fact name={say.everywhere.devices}>{say.devices.someOnline(String(online), devices.length)}</Fact>
        <Fact name={say.protocol.readAt}>{momentText(atMs)}</Fact>
      </dl>
    </Card>
  );
}

function Part({ title, lines, none }: { title: string; lines: readonly Line[]; none?: string }) {
  if (lines.length === 0 && none === undefined) return null;
  return (
    <>
      <h3>{title}</h3>
      {lines.length === 0 && <p class="hint">{none}</p>}
      <dl class="facts">
        {lines.map((line, index) => (
          <Fact name={line.title} key={index}>
            {line.text}
          </Fact>
        ))}
      </dl>
    </>
  );
}

function DeviceCard({ one }: { one: ProtocolDevice }) {
  const { device, manifest } = one;
  const status = device.connectivity?.status ?? 'OFFLINE';
  const alerts = (device.raised_alert_names ?? []).map((name) => alertTitle({ manifest }, name));
  return (
    <Card title={device.name} data-test="protocol-device">
      <dl class="facts">
        <Fact name={say.everywhere.blueprint}>{blueprintText(one)}</Fact>
        {device.communication && (
          <Fact name={say.everywhere.connection}>{say.devices.reachedBy[device.communication.type]}</Fact>
        )}
        {device.communication?.hardware_id !== undefined && (
          <Fact name={say.everywhere.hardwareId}>{device.communication.hardware_id}</Fact>
        )}
        {device.room && <Fact name={say.devices.room}>{device.room}</Fact>}
        <Fact name={say.everywhere.status}>{say.values.status[status]}</Fact>
        {alerts.length > 0 && <Fact name={say.frame.alerts}>{alerts.join(', ')}</Fact>}
        {one.properties.map(({ title, text }, index) => (
          <Fact name={title} key={index}>
            {text}
          </Fact>
        ))}
        {one.documents.length > 0 && (
          <Fact name={say.documents.photosAndDocuments}>{one.documents.join(', ')}</Fact>
        )}
      </dl>
      {device.notes && (
        <>
          <h3>{say.documents.notes}</h3>
          <p class="notes">{device.notes}</p>
        </>
      )}
      <Part title={say.protocol.settings} lines={one.settings} />
      <Part title={say.protocol.measured} lines={one.values} none={say.protocol.nothingMeasured} />
      <Part title={say.protocol.commandsTried} lines={one.tests} />
    </Card>
  );
}

function HandTests() {
  return (
    <Card title={say.protocol.otherTests}>
      <div class="protocol-lines">
        <b>{say.protocol.test}</b>
        <b>{say.protocol.result}</b>
        {EMPTY_TESTS.map((line) => [<span key={`${line}a`} />, <span key={`${line}b`} />])}
      </div>
    </Card>
  );
}

function People({ protocol: { users } }: { protocol: Protocol }) {
  if (!users) return null;
  return (
    <Card title={say.access.users}>
      <dl class="facts">
        {users.map((user) => (
          <Fact name={user.name} key={user.id}>
            {say.values.role[user.role]}
          </Fact>
        ))}
      </dl>
    </Card>
  );
}

const SCHEDULES = { OFF: say.box.onlyWhenAsked, DAILY: say.box.everyDay, WEEKLY: say.box.everyWeek };

function Data({ protocol: { targets, plan } }: { protocol: Protocol }) {
  const planned = plan.schedule === 'OFF' ? '' : ` ${plan.at}`;
  return (
    <Card title={say.protocol.data}>
      <dl class="facts">
        <Fact name={say.box.planTitle}>
          {SCHEDULES[plan.schedule]}
          {planned}
        </Fact>
        {plan.target !== null && <Fact name={say.box.whereto}>{plan.target}</Fact>}
        <Fact name={say.box.lastGood}>
          {plan.last_good_at === null ? say.box.noneYet : momentText(plan.last_good_at)}
        </Fact>
        <Targets targets={targets} />
      </dl>
    </Card>
  );
}

function Targets({ targets }: { targets: readonly Target[] }) {
  if (targets.length === 0) return <Fact name={say.box.sentElsewhere}>{say.targets.staysHere}</Fact>;
  return (
    <>
      {targets.map(({ id, name, influxdb, mqtt, folder, status }) => (
        <Fact name={name} key={id}>
          {(influxdb ?? mqtt)?.url ?? folder?.path}, {say.targets.state[status.state]}
        </Fact>
      ))}
    </>
  );
}

function Signatures() {
  return (
    <Card title={say.protocol.handover}>
      <p class="hint">{say.protocol.handoverText}</p>
      <div class="protocol-lines signed">
        <Signature>{say.protocol.installer}</Signature>
        <Signature>{say.protocol.owner}</Signature>
      </div>
    </Card>
  );
}

function Signature({ children }: { children: ComponentChildren }) {
  return (
    <p>
      {say.protocol.placeAndDate}
      <span />
      {children}
      <span />
    </p>
  );
}
