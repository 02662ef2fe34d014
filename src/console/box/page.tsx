/** The gateway itself: its state, storage, ports, backups and updates. */
import { alertTitle } from '../alert-title.ts';
import { ApiError, call } from '../api.ts';
import { isAway } from '../connection.ts';
import { deviceIds, type LiveDevice, liveDevices, loadDevices } from '../live.ts';
import { useWholeDevice } from '../parts/whole-device.ts';
import { ValuesTab } from '../pages/device-values.tsx';
import { UNCOUNTED } from '../devices/roles.ts';
import { may } from '../session.ts';
import type { Health } from '../shapes.ts';
import { Card, ErrorNotice, Loading, Notice, PageHead, useAnswer, useStored } from '../ui.tsx';
import { Fact, partOf, tabAt, Tabs } from '../ui/page-components.tsx';
import { BackupCard } from './backup.tsx';
import { BackupPlanCard } from './backup-plan.tsx';
import { CertificatesCard } from './certificates.tsx';
import { IoPortsCard } from './io-ports.tsx';
import { RehearsalCard } from './rehearsal.tsx';
import { RestoreCard } from './restore.tsx';
import { SerialPortsCard } from './serial-ports.tsx';
import { StorageCard } from './storage.tsx';
import { TargetsCard } from './targets.tsx';
import { UpdatesTab } from './updates.tsx';
import { say } from '../words/later.ts';

async function findGateway(): Promise<string | undefined> {
  if (deviceIds.value === undefined) await loadDevices();
  return liveDevices().find(({ device }) => device.type === 'GATEWAY')?.device.id;
}

/** The present faults, in the gateway's own sentences; empty when there are none. */
async function readFaults(): Promise<readonly string[]> {
  try {
    await call('GET', '/readyz');
    return [];
  } catch (error) {
    if (error instanceof ApiError && error.status === 503)
      return error.problems.map(({ message }) => message);
    throw error;
  }
}

const TABS = [
  { key: '', text: say.box.state, Content: State },
  { key: 'backup', text: say.box.backups, role: 'OWNER', Content: Backups },
  { key: 'targets', text: say.box.sentElsewhere, role: 'OWNER', Content: TargetsCard },
  { key: 'ports', text: say.box.ports, Content: Ports },
  { key: 'updates', text: say.box.updates, role: 'OWNER', Content: UpdatesTab },
];

export function SystemPage({ tab: wanted }: { tab: string | undefined }) {
  const tab = tabAt(TABS, wanted);
  return (
    <>
      <PageHead title={say.frame.box} part={partOf(tab)}>
        {may('OWNER') && (
          <a class="button" href="#/system/protocol">
            {say.protocol.title}
          </a>
        )}
      </PageHead>
      <Tabs name={say.box.partsOfBox} base="#/system" tabs={TABS} current={tab} wanted={wanted} />
      {tab && <tab.Content />}
    </>
  );
}

function Backups() {
  return (
    <div class="columns">
      <RehearsalCard />
      <BackupPlanCard />
      {may('INSTALLER') && <BackupCard />}
      {may('INSTALLER') && <RestoreCard />}
    </div>
  );
}

function Ports() {
  return (
    <div class="columns">
      <SerialPortsCard />
      <IoPortsCard />
    </div>
  );
}

function State() {
  const gateway = useWholeDevice(findGateway, []);
  const health = useAnswer(() => call<Health>('GET', '/healthz'), []);
  const live = gateway.answer;
  return (
    <>
      <ErrorNotice error={gateway.error ?? health.error} />
      <Condition live={live} />
      <div class="columns">
        {live && <StorageCard live={live} />}
        <CertificatesCard health={health.answer} />
        <Card title={say.box.program}>
          <dl class="facts">
            <Fact name={say.box.version}>{health.answer?.version ?? '–'}</Fact>
            <Fact name={say.box.problemReport}>
              <a href="/v3/problem_report" download>
                {say.box.withoutSecrets}
              </a>
            </Fact>
            <Fact name={say.box.metrics}>
              <a href="/metrics">{say.box.forPrometheus}</a>
            </Fact>
            <Fact name={say.box.api}>
              <a href="/docs">{say.box.reference}</a>, <a href="/docs/manual">{say.box.manual}</a>,{' '}
              <a href="/v3/openapi.json">OpenAPI</a>
            </Fact>
          </dl>
        </Card>
      </div>
      {live && (
        <p class="between">
          <a class="button" href={`#/devices/${encodeURIComponent(live.device.slug)}/chart`}>
            {say.box.chartsAndLogs}
          </a>
        </p>
      )}
      {live ? <ValuesTab live={live} counted={UNCOUNTED} /> : gateway.error === undefined && <Loading />}
    </>
  );
}

/** One sentence: all is well, or what is not. */
function Condition({ live }: { live: LiveDevice | undefined }) {
  void live?.version.value;
  const { answer: faults, error } = useStored(readFaults);
  const alerts = live ? (live.device.raised_alert_names ?? []).map((name) => alertTitle(live, name)) : [];
  // A state that cannot be read now is not shown as good.
  if (!faults || error !== undefined || isAway.value) return <ErrorNotice error={error} />;
  const isWell = faults.length === 0 && alerts.length === 0;
  return (
    <div data-test="condition">
      <Notice kind={isWell ? 'success' : 'warning'}>
        {isWell ? (
          <p>{say.box.everythingWorks}</p>
        ) : (
          [...faults, ...alerts].map((sentence) => <p key={sentence}>{sentence}</p>)
        )}
      </Notice>
    </div>
  );
}
