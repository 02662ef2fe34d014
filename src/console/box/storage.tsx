/** What is kept, how much room it takes, and for how long there is more. */
import { showValue } from '../format.ts';
import type { LiveDevice } from '../live.ts';
import { Value } from '../parts/value.tsx';
import { Card, Fact } from '../ui.tsx';

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
  const daysLeft = live.values.get('history_days_left')?.value;
  return (
    <Card title="Storage" data-test="storage">
      <p class="hint">
        {typeof daysLeft === 'number'
          ? `At the present pace there is room for ${Math.floor(daysLeft)} more days; then the oldest history gives way to the newest.`
          : 'The oldest history gives way to the newest when there is no more room.'}
      </p>
      <dl class="facts">
        <Fact name="History">
          <Value live={live} name="history_size_bytes" /> of {property('history_max_bytes')}
        </Fact>
        <Fact name="Disk free">
          <Value live={live} name="disk_free_bytes" />
        </Fact>
        <Fact name="Every sample is kept for">{property('telemetry_sample_days')}</Fact>
        <Fact name="Minutes are kept for">{property('telemetry_minute_days')}</Fact>
        <Fact name="Quarter hours are kept for">{property('telemetry_quarter_days')}</Fact>
      </dl>
    </Card>
  );
}
