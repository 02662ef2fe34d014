/** What needs a person, the worst first. */
import { useEffect, useRef } from 'preact/hooks';
import { callFor, callForList, NoAnswer } from '../api.ts';
import { isConnected } from '../connection.ts';
import { type LiveDevice, statusVersion } from '../live.ts';
import { isOfBox } from '../translated-manifest.ts';
import { ErrorNotice, useStored } from '../ui.tsx';
import { isListShown } from './first-steps.tsx';
import { sinceText } from '../alerts/since.ts';
import { unstoredAlerts } from '../alerts/unstored.ts';
import { titleOf } from '../alert-title.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import type { Alert, SiteAttention } from '../shapes.ts';
import { say } from '../words/index.ts';

const REFRESH_MS = 60_000;
/** On the overview. */
const SHOWN_MAX = 8;
const ALERTS_READ = 200;
const ORDER = ['error', 'warning', 'info'] as const;

/** Facts about rules, backups and users, read again while they are shown. */
export const useAttention = () =>
  useStored(() => callFor<SiteAttention>('attention', 'GET', '/v3/site/attention'), [], REFRESH_MS);

const OFFLINE = 'offline ';

interface Item {
  key: string;
  severity: (typeof ORDER)[number];
  text: string;
  /** Since when, if that is known. */
  since?: string | undefined;
  href: string;
  onClick?: (event: Event) => void;
}

function ofRules({ are_rules_suspended: areSuspended, rules_at_fault: atFault }: SiteAttention): Item[] {
  if (areSuspended)
    return [{ key: 'engine', severity: 'warning', text: say.site.rulesSuspended, href: '#/rules' }];
  return atFault.map(({ id, slug, is_broken: isBroken }) => ({
    key: `rule ${id}`,
    severity: 'warning',
    text: isBroken ? say.site.ruleBroken(slug) : say.site.ruleFailed(slug),
    href: `#/rules/${encodeURIComponent(slug)}`,
  }));
}

/** Only users who may make a backup are reminded. An overdue automatic backup is an alert of the gateway. */
function ofBackups({ is_backup_made: isMade, backup_error: fault }: SiteAttention): Item[] {
  const href = '#/system/backup';
  if (typeof fault === 'string')
    return [{ key: 'backup', severity: 'warning', text: say.site.backupFailed(say.frame.said(fault)), href }];
  // The first steps show it already.
  return isMade !== false || isListShown()
    ? []
    : [{ key: 'backup', severity: 'info', text: say.site.noBackup, href }];
}

/** If there are more than can be read, unacknowledged alerts come first. */
async function loadAlerts(): Promise<{ raised: Alert[]; unread: number }> {
  const ask = (which = '') => callForList<Alert>(`/v3/alerts?state=RAISED${which}`, 'alerts', ALERTS_READ);
  const all = await ask();
  if (all.items.length === all.total) return { raised: all.items, unread: 0 };
  const unseen = await ask('&acknowledged=false');
  const seen = all.items.filter(({ acknowledged_at: seenAt }) => seenAt !== null);
  return { raised: [...unseen.items, ...seen], unread: unseen.total - unseen.items.length };
}

interface AttentionProps {
  devices: readonly LiveDevice[];
  rest: ReturnType<typeof useAttention>;
  /** Shows the devices that are offline. */
  onOffline?: () => void;
}

/** What needs a person, the worst first, and whether all of it is known. */
export function useAttentionItems({ devices, rest, onOffline = () => undefined }: AttentionProps) {
  void statusVersion.value;
  const alarmed = devices.filter(({ device }) => (device.raised_alert_names ?? []).length > 0);
  const names = alarmed.map(({ device }) => [device.id, device.raised_alert_names]);
  const away = devices.filter(isAway).map(({ device }) => device.id);
  const alerts = useStored(loadAlerts, [], REFRESH_MS);
  const known = JSON.stringify([names, away]);
  const read = useRef(known);
  useEffect(() => {
    if (read.current !== known) alerts.follow();
    read.current = known;
  }, [known]);
  const { raised, unread } = alerts.answer ?? { raised: [], unread: 0 };
  const items = [
    ...alertItems(raised),
    // When there are more alerts than can be read, it is unknown which are stored.
    ...(alerts.answer && unread === 0 ? unstoredItems(alarmed, raised) : []),
    ...together(
      devices.flatMap((live) => absenceOf(live, raised)),
      onOffline,
    ),
    ...(rest.answer ? [...ofRules(rest.answer), ...ofBackups(rest.answer)] : []),
  ].toSorted((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  const error = alerts.error ?? rest.error;
  const isRead = alerts.answer !== undefined && rest.answer !== undefined && error === undefined;
  // An unknown state is not shown as good.
  return { items, unread, error, isWell: items.length === 0 && isRead && isConnected.value };
}

export function Attention(props: AttentionProps) {
  const { items, unread, error, isWell } = useAttentionItems(props);
  return (
    <>
      {/* That the gateway is away stands above all pages. */}
      {!(error instanceof NoAnswer) && <ErrorNotice error={error} />}
      {items.length > 0 && <Items items={items} unread={unread} />}
      {isWell && <AllWell />}
    </>
  );
}

export function AllWell() {
  return (
    <p class="all-well" data-test="attention">
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d="m5 13 4 4L19 7" />
      </svg>
      {say.site.allWell}
    </p>
  );
}

/** @param props.shownMax more are shown as a number */
export function Items({
  items,
  unread,
  shownMax = SHOWN_MAX,
}: {
  items: readonly Item[];
  unread: number;
  shownMax?: number;
}) {
  const more = Math.max(0, items.length - shownMax) + unread;
  return (
    <section class="attention" aria-labelledby="attention-title" data-test="attention">
      <h2 id="attention-title" class="hidden">
        {say.site.needsAttention}
      </h2>
      <ul>
        {items.slice(0, shownMax).map(({ key, severity, text, since: from, href, onClick }) => (
          <li key={key} class={severity}>
            <a href={href} onClick={onClick}>
              <span class="sign" aria-hidden="true">
                {severity === 'info' ? 'i' : '!'}
              </span>
              <span class="hidden">{say.values.severity[severity]}: </span>
              <span>{text}</span>
              {from !== undefined && <small>{from}</small>}
            </a>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="hint">{say.site.andMore(more)}</p>}
    </section>
  );
}

/** From this number on, offline devices are shown as one item: they have a common cause then. */
const TOGETHER_FROM = 5;

function together(items: readonly Item[], onOffline: () => void): readonly Item[] {
  const offline = items.filter(({ key }) => key.startsWith(OFFLINE));
  if (offline.length < TOGETHER_FROM) return items;
  return [
    ...items.filter(({ key }) => !key.startsWith(OFFLINE)),
    {
      key: OFFLINE,
      severity: 'warning',
      text: say.site.devicesOffline(offline.length),
      href: '#/',
      onClick: (event) => {
        event.preventDefault();
        onOffline();
      },
    },
  ];
}

/** Unacknowledged alerts. */
function alertItems(raised: readonly Alert[]): Item[] {
  return raised
    .filter((alert) => alert.acknowledged_at === null && !isOfAbsence(alert))
    .map((alert) => ({
      key: `alert ${alert.id}`,
      severity: alert.severity,
      text: isOfGateway(alert, 'silent')
        ? say.site.deviceSilent(alert.device_name)
        : `${alert.device_name}: ${titleOf(alert)}`,
      since: sinceText(alert.raised_at, gatewayNowMs()),
      href: '#/alerts',
    }));
}

function unstoredItems(alarmed: readonly LiveDevice[], raised: readonly Alert[]): Item[] {
  return unstoredAlerts(alarmed, raised).map(({ live: { device }, name, title, severity }) => ({
    key: `alert ${device.id} ${name}`,
    severity,
    text: `${device.name}: ${title}`,
    href: '#/alerts',
  }));
}

const isOfGateway = ({ source, name }: Alert, wanted: string): boolean =>
  source === 'GATEWAY' && name === wanted;
const isOfAbsence = (alert: Alert): boolean => isOfGateway(alert, 'offline');

const isAway = ({ device }: LiveDevice): boolean =>
  !isOfBox(device) && device.connectivity?.status !== 'ONLINE';

/** Shown at once; after some minutes an alert follows, with its begin and acknowledgement. */
function absenceOf(live: LiveDevice, raised: readonly Alert[]): Item[] {
  const { device } = live;
  const alert = raised.find((one) => one.device_id === device.id && isOfAbsence(one));
  if (!isConnected.value || !isAway(live) || (alert && alert.acknowledged_at !== null)) return [];
  return [
    {
      key: `${OFFLINE}${device.id}`,
      severity: 'warning',
      text: say.site.deviceOffline(device.name),
      since: alert && sinceText(alert.raised_at, gatewayNowMs()),
      href: `#/devices/${encodeURIComponent(device.slug)}`,
    },
  ];
}
