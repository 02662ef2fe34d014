/** What a person should look at, the worst first. */
import { useEffect } from 'preact/hooks';
import { call, changeCount } from '../api.ts';
import { isConnected } from '../connection.ts';
import { type LiveDevice } from '../live.ts';
import { may } from '../session.ts';
import { useAnswer } from '../ui.tsx';
import { raisedSince } from './raised-since.ts';
import type { AuditEntry, Engine, Rule } from '../shapes.ts';

const REFRESH_MS = 60_000;
/** More are told as a number. */
const SHOWN_MAX = 8;
const ORDER = ['error', 'warning', 'info'] as const;

interface Item {
  key: string;
  severity: (typeof ORDER)[number];
  text: string;
  /** Since when, if that is known. */
  since?: string | undefined;
  href: string;
}

async function rulesAtFault(): Promise<Item[]> {
  const { engine } = await call<{ engine: Engine }>('GET', '/v3/site/rule_engine');
  if (engine.state !== 'ACTIVE')
    return [{ key: 'engine', severity: 'warning', text: 'All rules are suspended', href: '#/rules' }];
  const { rules } = await call<{ rules: Rule[] }>('GET', '/v3/site/rule_engine/rules');
  return rules
    .filter(({ disabled, state }) => !disabled && state === 'STOPPED')
    .map(({ id, slug }) => ({
      key: `rule ${id}`,
      severity: 'warning',
      text: `Rule ${slug} is enabled and does not run`,
      href: `#/rules/${encodeURIComponent(slug)}`,
    }));
}

/** The audit remembers the last backup; only those who may make one are reminded. */
async function missingBackup(): Promise<Item[]> {
  if (!may('OWNER')) return [];
  const { entries } = await call<{ entries: AuditEntry[] }>(
    'GET',
    '/v3/audit?operation=create_backup&limit=1',
  );
  if (entries.some(({ status }) => status < 400)) return [];
  return [{ key: 'backup', severity: 'info', text: 'No backup was made yet', href: '#/system' }];
}

async function load(): Promise<Item[]> {
  return (await Promise.all([rulesAtFault(), missingBackup()])).flat();
}

export function Attention({ devices }: { devices: readonly LiveDevice[] }) {
  for (const live of devices) void live.version.value;
  const { answer: others = [], again } = useAnswer(load, [changeCount.value, isConnected.value]);
  const alarmed = devices.filter(({ device }) => (device.raised_alert_names ?? []).length > 0);
  const names = alarmed.map(({ device }) => [device.id, device.raised_alert_names]);
  const { answer: since } = useAnswer(() => raisedSince(alarmed), [JSON.stringify(names)]);
  useEffect(() => {
    const timer = setInterval(again, REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  const items = [...devices.flatMap((live) => itemsOf(live, since)), ...others].toSorted(
    (a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity),
  );
  if (items.length === 0)
    return (
      <p class="all-well" data-test="attention">
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="m5 13 4 4L19 7" />
        </svg>
        Nothing needs attention.
      </p>
    );
  return (
    <section class="attention" aria-labelledby="attention-title" data-test="attention">
      <h2 id="attention-title">Needs attention</h2>
      <ul>
        {items.slice(0, SHOWN_MAX).map(({ key, severity, text, since: from, href }) => (
          <li key={key} class={severity}>
            <a href={href}>
              <span class="sign" aria-hidden="true">
                {severity === 'info' ? 'i' : '!'}
              </span>
              <span class="hidden">{severity}: </span>
              <span>{text}</span>
              {from !== undefined && <small>{from}</small>}
            </a>
          </li>
        ))}
      </ul>
      {items.length > SHOWN_MAX && <p class="hint">and {items.length - SHOWN_MAX} more</p>}
    </section>
  );
}

function itemsOf({ device, manifest }: LiveDevice, since: ReadonlyMap<string, string> | undefined): Item[] {
  const href = `#/devices/${encodeURIComponent(device.slug)}`;
  const alerts = (device.raised_alert_names ?? []).map((name): Item => {
    const alert = manifest?.alerts[name];
    return {
      key: `alert ${device.id} ${name}`,
      severity: alert?.severity ?? 'warning',
      text: `${device.name}: ${alert?.display_name ?? name}`,
      since: since?.get(`${device.id} ${name}`),
      href,
    };
  });
  const isOwn = device.type === 'GATEWAY' || device.type === 'VIRTUAL_UCM';
  if (isOwn || !isConnected.value || device.connectivity?.status === 'ONLINE') return alerts;
  return [
    ...alerts,
    { key: `offline ${device.id}`, severity: 'warning', text: `${device.name} is offline`, href },
  ];
}
