/** Live values; an old one is never shown as fresh. */
import { computed } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { ageText, freshness, showValue } from '../format.ts';
import { nowS, slowNowS } from '../gateway-time.ts';
import { isAway } from '../connection.ts';
import { pauseOf } from '../known-value.ts';
import type { LiveDevice } from '../live.ts';
import { alertTitle } from '../alert-title.ts';
import { say } from '../words/index.ts';
import { usePart } from './whole-device.ts';

/** From this age on it is shown in minutes, and counts as old. */
const SLOW_FROM_S = 120;

/** One value with its unit; old ones are grey and tell their age. */
export function Value({ live, name }: { live: LiveDevice; name: string }) {
  const known = usePart(live, ({ values }) => values.get(name), name);
  const isOffline = usePart(live, ({ device, isGone }) => isGone || device.connectivity?.status !== 'ONLINE');
  const pauseS = known ? pauseOf(known) : 0;
  // Drawn again when it becomes old, not every second until then.
  const isOldNow = useMemo(
    () =>
      computed(
        () =>
          known !== undefined && freshness(known.timestampS, known.receivedAtS, nowS.value, pauseS).isStale,
      ),
    [known?.timestampS, known?.receivedAtS, pauseS],
  );
  const isStale = isOldNow.value;
  if (!known) return <span class="value none">–</span>;
  const isLong = slowNowS.peek() - known.timestampS > SLOW_FROM_S;
  const isGrey = isStale || isOffline;
  const atS = !isGrey ? nowS.peek() : isLong ? slowNowS.value : nowS.value;
  const { ageS } = freshness(known.timestampS, known.receivedAtS, atS);
  const { text, unit, color } = showValue(known.value, live.manifest?.telemetry[name], live.manifest, name);
  return (
    <span class={isGrey ? 'value stale' : 'value'}>
      {color !== undefined && <i class={`swatch ${color}`} aria-hidden="true" />}
      <b>{text}</b>
      {unit !== '' && <small> {unit}</small>}
      {isGrey && <em>{ageS === 0 && isStale ? say.values.inTheFuture : say.values.ago(ageText(ageS))}</em>}
    </span>
  );
}

export function StatusBadge({ live }: { live: LiveDevice }) {
  void live.version.value;
  // The last known status is not the status of now.
  const status = live.isGone
    ? 'DELETED'
    : isAway.value
      ? 'UNKNOWN'
      : (live.device.connectivity?.status ?? 'OFFLINE');
  return (
    <span class={`badge ${status.toLowerCase()}`}>
      <i aria-hidden="true" />
      <span>{say.values.status[status]}</span>
    </span>
  );
}

/** A sign for each severity, so that no colour is needed to tell them apart. */
export const SIGN = { error: '✕', warning: '!', info: 'i' } as const;

/** Severity of an alert that the manifest does not declare, as the gateway has it. */
export const UNDECLARED = 'error';

/** More alerts of one device are shown as a number, so that other devices stay in sight. */
const CHIPS_MAX = 6;
const WORST_FIRST = Object.keys(SIGN);

/** Raised alerts by the words of the manifest, the worst first. */
export function AlertChips({ live }: { live: LiveDevice }) {
  void live.version.value;
  const severityOf = (name: string) => live.manifest?.alerts[name]?.severity ?? UNDECLARED;
  const rankOf = (name: string): number => WORST_FIRST.indexOf(severityOf(name));
  const names = (live.device.raised_alert_names ?? []).toSorted((a, b) => rankOf(a) - rankOf(b));
  if (names.length === 0) return null;
  return (
    <ul class="chips">
      {names.slice(0, CHIPS_MAX).map((name) => (
        <li class={`chip ${severityOf(name)}`} key={name}>
          <span aria-hidden="true">{SIGN[severityOf(name)]} </span>
          <span class="text">{alertTitle(live, name)}</span>
        </li>
      ))}
      {names.length > CHIPS_MAX && <li class="chip">{say.site.andMore(names.length - CHIPS_MAX)}</li>}
    </ul>
  );
}
