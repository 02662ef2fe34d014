/** Alerts of the site: raised ones, past ones, and notifications. */
import { useEffect, useState } from 'preact/hooks';
import type { EpochMs } from '../../lib/time.ts';
import { titleOf } from '../alert-title.ts';
import { call, callForList, path } from '../api.ts';
import { isAway } from '../connection.ts';
import { polls } from '../polling.ts';
import { gatewayNowMs, slowNowS } from '../gateway-time.ts';
import { liveDevice, liveDevices, statusVersion } from '../live.ts';
import { drawable, mainValues } from '../main-values.ts';
import { isOfBox } from '../translated-manifest.ts';
import { momentText } from '../format.ts';
import { edgesOf, periodAt } from '../period.ts';
import { SIGN } from '../parts/value.tsx';
import { may } from '../session.ts';
import { openStream } from '../stream.ts';
import { zone } from '../zone.ts';
import {
  Awaited,
  Button,
  Empty,
  ErrorNotice,
  Late,
  PageHead,
  SelectField,
  useAction,
  useStored,
} from '../ui.tsx';
import { partOf, type Tab, tabAt, Tabs } from '../ui/page-components.tsx';
import { NotificationsPage } from './notifications.tsx';
import type { Alert, AlertMessage, Device } from '../shapes.ts';
import { detailsText, historyWindow, lastedText, periodText, SEVERITIES } from './words.ts';
import { type UnstoredAlert, unstoredAlerts } from './unstored.ts';
import { say } from '../words/index.ts';

const PAGE_ITEMS = 50;
/** A storm of alerts is drawn a few times a second. */
const FOLLOW_DELAY_MS = 500;

const TABS: readonly Tab[] = [
  { key: '', text: say.alerts.raised },
  { key: 'history', text: say.everywhere.history },
  { key: 'notifications', text: say.alerts.notifications, role: 'OWNER' },
];

export function AlertsPage({ tab: wanted }: { tab: string | undefined }) {
  const tab = tabAt(TABS, wanted);
  const [isUnseen, setUnseen] = useState(false);
  return (
    <>
      <PageHead title={say.frame.alerts} part={partOf(tab)}>
        {tab?.key === '' && isUnseen && may('USER') && <AcknowledgeAll />}
      </PageHead>
      <Tabs name={say.frame.alerts} base="#/alerts" tabs={TABS} current={tab} wanted={wanted} />
      {tab?.key === 'notifications' ? (
        <NotificationsPage />
      ) : (
        <AlertList key={tab?.key} isHistory={tab?.key === 'history'} onUnseen={setUnseen} />
      )}
    </>
  );
}

function AcknowledgeAll() {
  const action = useAction(() => call('POST', '/v3/alerts/acknowledge'));
  return (
    <>
      <ErrorNotice error={action.error} />
      <Button action={action}>{say.alerts.acknowledgeAll}</Button>
    </>
  );
}

/** Calls the listener when alerts change, and after a lost connection: only the main stream notices that in time. */
function useAlertChanges(listener: () => void): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const follow = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        listener();
      }, FOLLOW_DELAY_MS);
    };
    const end = openStream<AlertMessage>('/v3/alerts', { onOpen: follow, onMessage: follow });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [isAway.value]);
  useEffect(() => {
    if (polls.value > 0) listener();
  }, [polls.value]);
}

/** Empty: all. */
interface AlertFilter {
  device: string;
  severity: string;
}

function FilterFields({
  filter,
  onFilter,
}: {
  filter: AlertFilter;
  onFilter: (filter: AlertFilter) => void;
}) {
  return (
    <div class="alert-filter">
      <SelectField
        label={say.everywhere.device}
        name="device"
        value={filter.device}
        onValue={(device) => onFilter({ ...filter, device })}
        choices={[
          { value: '', text: say.alerts.allDevices },
          ...liveDevices().map(({ device: { id, name } }) => ({ value: id, text: name })),
        ]}
      />
      <SelectField
        label={say.everywhere.severity}
        name="severity"
        value={filter.severity}
        onValue={(severity) => onFilter({ ...filter, severity })}
        choices={[
          { value: '', text: say.alerts.all },
          ...SEVERITIES.map((one) => ({ value: one, text: say.alerts.severity[one] })),
        ]}
      />
    </div>
  );
}

function NoAlerts({ isHistory }: { isHistory: boolean }) {
  return (
    <Empty title={isHistory ? say.alerts.noneYet : say.alerts.none}>
      <p>{isHistory ? say.alerts.noneYetText : say.alerts.noneText}</p>
      {!isHistory && may('OWNER') && (
        <a class="button" href="#/alerts/notifications">
          {say.alerts.chooseWhoIsTold}
        </a>
      )}
    </Empty>
  );
}

function AlertList({
  isHistory,
  onUnseen,
}: {
  isHistory: boolean;
  /** Is called with whether the list has unacknowledged alerts. */
  onUnseen: (isUnseen: boolean) => void;
}) {
  const [filter, setFilter] = useState<AlertFilter>({ device: '', severity: '' });
  const { device, severity } = filter;
  const [limit, setLimit] = useState(PAGE_ITEMS);
  const question = new URLSearchParams({ state: isHistory ? 'CLEARED' : 'RAISED' });
  if (device !== '') question.set('device_id.in', device);
  if (severity !== '') question.set('severity', severity);
  const { answer, isOther, error, follow } = useStored(
    () => callForList<Alert>(`/v3/alerts?${question}`, 'alerts', limit),
    [String(question), limit],
  );
  useAlertChanges(follow);
  const isUnseen = answer?.items.some(({ acknowledged_at: at }) => at === null) === true;
  useEffect(() => onUnseen(isUnseen), [isUnseen]);
  const unstored = isHistory || isOther ? [] : unstoredOf(answer, device, severity);
  return (
    <>
      {(filter.device !== '' || filter.severity !== '' || (answer?.total ?? 0) > 0) && (
        <FilterFields filter={filter} onFilter={setFilter} />
      )}
      <Awaited answer={answer} error={error} />
      {answer && (
        <Late isOther={isOther}>
          {unstored.length > 0 && <UnstoredRows alerts={unstored} />}
          {answer.items.length === 0 ? (
            // An old answer does not say that all is well now.
            (isHistory || (!isAway.value && unstored.length === 0)) && <NoAlerts isHistory={isHistory} />
          ) : (
            <Rows alerts={answer.items} />
          )}
          {answer.total > answer.items.length && (
            <Button onClick={() => setLimit(limit + PAGE_ITEMS)}>
              {say.alerts.showOlder(answer.total - answer.items.length)}
            </Button>
          )}
        </Late>
      )}
    </>
  );
}

/** When only a part of the stored alerts is known, the others cannot be told. */
function unstoredOf(
  answer: { items: readonly Alert[]; total: number } | undefined,
  deviceId: string,
  severity: string,
): UnstoredAlert[] {
  void statusVersion.value;
  if (!answer || answer.items.length < answer.total) return [];
  const devices = liveDevices().filter(({ device: { id } }) => deviceId === '' || id === deviceId);
  return unstoredAlerts(devices, answer.items).filter((one) => severity === '' || one.severity === severity);
}

function UnstoredRows({ alerts }: { alerts: readonly UnstoredAlert[] }) {
  return (
    <ul class="card alert-list" data-test="unstored-alerts">
      {alerts.map(({ live: { device }, name, title, severity }) => (
        <li class={severity} key={`${device.id} ${name}`}>
          <SeverityChip severity={severity} />
          <div>
            <b>{title}</b> <a href={`#/devices/${encodeURIComponent(device.slug)}`}>{device.name}</a>
            <small>{say.alerts.reportedNow}</small>
          </div>
        </li>
      ))}
    </ul>
  );
}

function SeverityChip({ severity }: Pick<Alert, 'severity'>) {
  return (
    <span class={`chip ${severity}`}>
      <span aria-hidden="true">{SIGN[severity]} </span>
      {say.alerts.severity[severity]}
    </span>
  );
}

/** The worst first, acknowledged ones after the others. */
function Rows({ alerts }: { alerts: readonly Alert[] }) {
  const rank = ({ acknowledged_at: at, cleared_at: cleared, severity }: Alert): number =>
    cleared !== null ? 0 : (at === null ? 0 : SEVERITIES.length) + SEVERITIES.indexOf(severity);
  return (
    <ul class="card alert-list" data-test="alerts">
      {alerts
        .toSorted((a, b) => rank(a) - rank(b))
        .map((alert) => (
          <Row key={alert.id} alert={alert} />
        ))}
    </ul>
  );
}

/** Details of the gateway's own alerts are translated; those of other devices stay as they are. */
function detailsOf(details: string, device: Device | undefined): string {
  const text = detailsText(details);
  return device && isOfBox(device) ? say.frame.said(text) : text;
}

function Row({ alert }: { alert: Alert }) {
  const acknowledging = useAction(() => call('POST', path`/v3/alerts/${alert.id}/acknowledge`));
  const snoozing = useAction(() =>
    call('POST', path`/v3/alerts/${alert.id}/snooze`, { until: tomorrowMorning() }),
  );
  const live = liveDevice(alert.device_id);
  const isRaised = alert.cleared_at === null;
  const nowMs = slowNowS.value * 1_000;
  return (
    <li class={isRaised && alert.acknowledged_at === null ? alert.severity : `${alert.severity} seen`}>
      <SeverityChip severity={alert.severity} />
      <div>
        <b>{titleOf(alert)}</b>{' '}
        <a href={`#/devices/${encodeURIComponent(live?.device.slug ?? alert.device_id)}`}>
          {alert.device_name}
        </a>
        {alert.details !== null && <p>{detailsOf(alert.details, live?.device)}</p>}
        <small>
          {periodText(alert)} · {lastedText(alert, nowMs)}
          {alert.times_raised > 1 && say.alerts.cameBack(alert.times_raised - 1)}
        </small>
        <Seen alert={alert} />
        <ErrorNotice error={acknowledging.error ?? snoozing.error} />
      </div>
      <div class="actions">
        <ChartLink alert={alert} nowMs={nowMs} />
        {isRaised && alert.acknowledged_at === null && may('USER') && (
          <>
            <Button action={snoozing} aria-label={say.alerts.snoozeOf(titleOf(alert), alert.device_name)}>
              {say.alerts.snooze}
            </Button>
            <Button
              action={acknowledging}
              aria-label={say.alerts.acknowledgeOf(titleOf(alert), alert.device_name)}
            >
              {say.alerts.acknowledge}
            </Button>
          </>
        )}
      </div>
    </li>
  );
}

/** When people are up, where the site is. */
const MORNING_MS = 7 * 3_600_000;

function tomorrowMorning(): string {
  const [, midnightMs] = edgesOf(periodAt('day', gatewayNowMs(), zone.value), zone.value);
  return new Date(midnightMs + MORNING_MS).toISOString();
}

function Seen({ alert }: { alert: Alert }) {
  const { acknowledged_at: at, acknowledged_by: by, acknowledged_until: until } = alert;
  if (at === null) return null;
  return (
    <small>
      {by === null
        ? say.alerts.acknowledgedAt(momentText(at))
        : say.alerts.acknowledgedBy(by, momentText(at))}
      {until !== null && say.alerts.snoozedUntil(momentText(until))}
    </small>
  );
}

/** Links to the history of the alert's values around its time. */
function ChartLink({ alert, nowMs }: { alert: Alert; nowMs: EpochMs }) {
  const live = liveDevice(alert.device_id);
  if (!live?.manifest) return null;
  const able = drawable(live.manifest);
  const named = (live.manifest.alerts[alert.name]?.['telemetry'] as string[] | undefined) ?? [];
  const about = [...named, ...mainValues(live.manifest).numbers].filter((name) => able.includes(name));
  if (about.length === 0) return null;
  const chosen = (named.length > 0 ? about.slice(0, named.length) : about.slice(0, 1)).map(
    (name) => `${alert.device_id}.${name}`,
  );
  const window = historyWindow(alert, nowMs).join('-');
  return (
    <a
      class="button plain"
      href={`#/history/${window}/${encodeURIComponent(chosen.join('~'))}`}
      aria-label={say.alerts.chartAround(titleOf(alert), alert.device_name)}
    >
      {say.devices.chart}
    </a>
  );
}
