/** A new device until it says something: what is missing yet, and what its log says meanwhile. */
import { useEffect } from 'preact/hooks';
import { type LiveDevice, loadDevice } from '../live.ts';
import { LogsTab } from '../pages/device-logs.tsx';
import { ConfigurationTab } from '../pages/device-configuration.tsx';
import { StatusBadge } from '../parts/value.tsx';
import { Card, ErrorNotice, Loading, Notice, useAnswer } from '../ui.tsx';

/** @param hasScript it is talked to by the gateway, and its settings are asked here */
export function Waiting({ id, hasScript }: { id: string; hasScript: boolean }) {
  const { answer: live, error } = useAnswer(() => loadDevice(id), [id]);
  if (!live) return error === undefined ? <Loading /> : <ErrorNotice error={error} />;
  const isConfigurable = Object.keys(live.manifest?.configuration ?? {}).length > 0;
  return (
    <>
      {hasScript && isConfigurable && (
        <section aria-label="Connection settings">
          <h2>How it is reached</h2>
          <ConfigurationTab live={live} />
        </section>
      )}
      <Arrival live={live} />
      {hasScript && <LogsTab live={live} />}
    </>
  );
}

function Arrival({ live }: { live: LiveDevice }) {
  void live.version.value;
  const { device, values, manifest } = live;
  const isOnline = device.connectivity?.status === 'ONLINE';
  const isThere = isOnline && values.size > 0;
  const isBlank = Object.keys(manifest?.telemetry ?? {}).length === 0;
  useEffect(() => {
    // What arrives while this is looked at is told.
    document.title = isThere ? `${device.name} is there` : `Waiting for ${device.name}`;
  }, [isThere]);
  return (
    <Card title="Does it work?" actions={<StatusBadge live={live} />} data-test="arrival">
      {isThere ? (
        <Notice kind="success">
          <p>
            {device.name} is ONLINE, {values.size} {values.size === 1 ? 'value' : 'values'}.
          </p>
        </Notice>
      ) : (
        <p class="waiting" role="status">
          {!isOnline
            ? 'Waiting for the first message…'
            : isBlank
              ? 'It is connected. Without a blueprint, none of its values are recorded.'
              : 'It is connected; waiting for its first value…'}
        </p>
      )}
    </Card>
  );
}
