/** Content of notification messages. */
import { type EpochMs, formatTimestamp } from '../../lib/time.ts';
import { inOneLine } from '../../lib/text.ts';
import { type Alert, ALERT_SEVERITIES, type AlertSeverity, alertToWire } from '../alerts/index.ts';
import type { Device } from '../devices/index.ts';
import type { RuleMessage } from './model.ts';
import type { Delivery, Pending } from './tables.ts';

export interface Message {
  /** The same in every attempt. */
  id: string;
  site: { id: string; name: string };
  /** One line, without the name of the site. */
  title: string;
  text: string;
  /** Severity of the worst of its alerts, or as a rule says. */
  severity: AlertSeverity;
  /** It names only cleared alerts. */
  isOver: boolean;
  /** The content for programs. */
  json: Record<string, unknown>;
}

/** An alert in a message, with its changes since the last message. */
export interface NotifiedAlert {
  alert: Alert;
  device: Device | undefined;
  kinds: ReadonlySet<Pending['kind']>;
}

interface Surroundings {
  site: { id: string; name: string; timezone: string };
  nowMs: EpochMs;
  /** Alerts that are listed individually. */
  namedMax: number;
}

const NO_ALERTS = { raisedCount: 0, clearedCount: 0, omittedCount: 0 };

export function composeAlerts(
  delivery: Omit<Delivery, 'number'>,
  notified: readonly NotifiedAlert[],
  around: Surroundings,
): Message {
  const { site, namedMax } = around;
  const worstFirst = notified.toSorted(
    (a, b) => rank(b) - rank(a) || b.alert.raisedAtMs - a.alert.raisedAtMs || a.alert.number - b.alert.number,
  );
  const named = worstFirst.slice(0, namedMax);
  const omittedCount = worstFirst.length - named.length + delivery.omittedCount;
  const lines = named.map((one) => lineOf(one, site.timezone));
  if (omittedCount > 0) lines.push(`… and ${omittedCount} more.`);
  return messageOf(
    { ...delivery, omittedCount },
    around,
    {
      title: titleOf(delivery, worstFirst),
      text: `${lines.join('\n')}\n`,
      severity: worstFirst[0]?.alert.severity ?? 'info',
      isOver: delivery.raisedCount === 0,
    },
    named.map(({ alert, device, kinds }) => ({
      change: kinds.has('RAISED') && kinds.has('CLEARED') ? 'RAISED_AND_CLEARED' : [...kinds][0],
      ...alertToWire(alert, device, false),
    })),
  );
}

export function composeRuleMessage(
  { id }: Pick<Delivery, 'id'>,
  { rule, severity, title, text }: RuleMessage,
  around: Pick<Surroundings, 'site' | 'nowMs'>,
): Message {
  const said = {
    title: inOneLine(title),
    text: `${text === '' ? '' : `${text.toWellFormed()}\n\n`}Sent by the rule ${rule.slug}.\n`,
    severity,
    isOver: false,
  };
  const message = messageOf({ ...NO_ALERTS, id, kind: 'RULE' }, around, said, []);
  return { ...message, json: { ...message.json, severity, rule } };
}

export function composeTest(
  delivery: Pick<Delivery, 'id'>,
  channelName: string,
  around: Pick<Surroundings, 'site' | 'nowMs'>,
): Message {
  const title = 'Test of a notification channel';
  const text = `This is a test of the channel "${inOneLine(channelName)}". Alerts of ${inOneLine(around.site.name)} will come like this.\n`;
  const said = { title, text, severity: 'info', isOver: false } as const;
  return messageOf({ ...delivery, ...NO_ALERTS, kind: 'TEST' }, around, said, []);
}

function messageOf(
  delivery: Pick<Delivery, 'id' | 'kind' | 'raisedCount' | 'clearedCount' | 'omittedCount'>,
  { site: { id: siteId, name }, nowMs }: Pick<Surroundings, 'site' | 'nowMs'>,
  said: Pick<Message, 'title' | 'text' | 'severity' | 'isOver'>,
  alerts: readonly object[],
): Message {
  const { id, kind, raisedCount, clearedCount, omittedCount } = delivery;
  const site = { id: siteId, name: inOneLine(name) };
  const json = {
    id,
    type: kind.toLowerCase(),
    sent_at: formatTimestamp(nowMs),
    site,
    title: said.title,
    raised_count: raisedCount,
    cleared_count: clearedCount,
    omitted_count: omittedCount,
    alerts,
  };
  return { id, site, ...said, json };
}

/** Raised alerts before cleared ones, then by severity. */
function rank({ alert, kinds }: NotifiedAlert): number {
  const isRaised = kinds.has('RAISED') && !kinds.has('CLEARED');
  return (isRaised ? ALERT_SEVERITIES.length : 0) + ALERT_SEVERITIES.indexOf(alert.severity);
}

function titleOf(
  { raisedCount, clearedCount, omittedCount }: Omit<Delivery, 'number'>,
  notified: readonly NotifiedAlert[],
): string {
  const [only] = notified;
  if (only && notified.length === 1 && omittedCount === 0) {
    const isOver = only.kinds.has('CLEARED');
    const what = `${nameOf(only)}: ${inOneLine(only.alert.displayName)}`;
    return isOver ? `${what} is over` : what;
  }
  const parts = [
    ...(raisedCount > 0 ? [`${raisedCount} raised`] : []),
    ...(clearedCount > 0 ? [`${clearedCount} over`] : []),
    ...(omittedCount > 0 ? [`${omittedCount} more`] : []),
  ];
  return `Alerts: ${parts.join(', ')}`;
}

function lineOf(notified: NotifiedAlert, timezone: string): string {
  const { alert, kinds } = notified;
  const { clearedAtMs, details, displayName, raisedAtMs, severity } = alert;
  const over =
    kinds.has('CLEARED') && clearedAtMs !== undefined ? `, over ${moment(clearedAtMs, timezone)}` : '';
  const head = `${severity.toUpperCase()}  ${nameOf(notified)}: ${inOneLine(displayName)}`;
  const since = `raised ${moment(raisedAtMs, timezone)}${over}`;
  return `${head}, ${since}${details === undefined ? '' : `\n    ${inOneLine(details)}`}`;
}

const nameOf = ({ alert, device }: NotifiedAlert): string => inOneLine(device?.name ?? alert.deviceId);

/** A moment in the time zone of the site, which is named. */
function moment(atMs: EpochMs, timezone: string): string {
  const shown = new Intl.DateTimeFormat('sv-SE', {
    dateStyle: 'short',
    timeStyle: 'medium',
    timeZone: timezone,
  });
  return `${shown.format(new Date(atMs))} ${timezone}`;
}
