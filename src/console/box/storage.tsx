/** The stored data, the room it takes, and for how long there is more. */
import { showValue } from '../format.ts';
import type { LiveDevice } from '../live.ts';
import { Value } from '../parts/value.tsx';
import { Card, Notice } from '../ui.tsx';
import { Fact } from '../ui/page-components.tsx';
import { say } from '../words/later.ts';
import { limitText } from './limit-text.ts';

const YEAR_DAYS = 365;
/** While one of these alerts is raised, nothing is removed to make room: its description says what is stored. */
const STORING_STOPPED = ['state_degraded', 'history_degraded', 'disk_full'];

export function StorageCard({ live }: { live: LiveDevice }) {
  void live.version.value;
  const property = (name: string): string => {
    const { text, unit } = showValue(
      live.device.properties?.[name],
      live.manifest?.properties[name],
      live.manifest,
      name,
    );
    return `${text} ${unit}`.trim();
  };
  const keptFor = (name: string): string => {
    const days = live.device.properties?.[name];
    return typeof days === 'number' && days > 0 && days % YEAR_DAYS === 0
      ? say.values.years(days / YEAR_DAYS)
      : property(name);
  };
  const raised = live.device.raised_alert_names ?? [];
  const stopped = STORING_STOPPED.filter((name) => raised.includes(name));
  const daysLeft = live.values.get('history_days_left')?.value;
  return (
    <Card title={say.box.storage} data-test="storage">
      {stopped.length > 0 ? (
        <Notice kind="warning">
          {stopped.map((name) => (
            <p key={name}>{live.manifest?.alerts[name]?.description ?? name}</p>
          ))}
        </Notice>
      ) : (
        <p class="hint">{limitText(daysLeft, property('history_max_bytes'))}</p>
      )}
      <dl class="facts">
        <Fact name={say.everywhere.history}>
          {say.box.ofMost(<Value live={live} name="history_size_bytes" />, property('history_max_bytes'))}
        </Fact>
        <Fact name={say.box.diskFree}>
          <Value live={live} name="disk_free_bytes" />
        </Fact>
        <Fact name={say.box.samplesKept}>{keptFor('telemetry_sample_days')}</Fact>
        <Fact name={say.box.minutesKept}>{keptFor('telemetry_minute_days')}</Fact>
        <Fact name={say.box.quartersKept}>{keptFor('telemetry_quarter_days')}</Fact>
      </dl>
    </Card>
  );
}
