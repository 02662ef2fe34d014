/** A new device until its first values come: what is missing, its settings and its log. */
import { useEffect } from 'preact/hooks';
import { type LiveDevice, loadDevice } from '../live.ts';
import { LogsTab } from '../pages/device-logs.tsx';
import { ConfigurationTab } from '../pages/device-configuration.tsx';
import { AlertChips, StatusBadge } from '../parts/value.tsx';
import { Awaited, Card, Notice, useAnswer } from '../ui.tsx';
import { say } from '../words/later.ts';

/** @param hasScript the gateway talks to it, and needs its settings */
export function Waiting({ id, hasScript }: { id: string; hasScript: boolean }) {
  const { answer: live, error } = useAnswer(() => loadDevice(id), [id]);
  if (!live) return <Awaited answer={live} error={error} />;
  const isConfigurable = Object.keys(live.manifest?.configuration ?? {}).length > 0;
  return (
    <>
      {hasScript && isConfigurable && (
        <section aria-label={say.adding.connectionSettings}>
          <h2>{say.adding.howReached}</h2>
          <ConfigurationTab live={live} />
        </section>
      )}
      <Arrival live={live} hasScript={hasScript} />
      {hasScript && <LogsTab live={live} />}
    </>
  );
}

function Arrival({ live, hasScript }: { live: LiveDevice; hasScript: boolean }) {
  void live.version.value;
  const { device, values, manifest } = live;
  const isOnline = device.connectivity?.status === 'ONLINE';
  // Alerts are no measurement: a script also raises them for a device that it cannot reach.
  const measured = [...values.keys()].filter(
    (name) => name !== 'alert_details' && (manifest?.telemetry[name]?.type ?? 'alerts') !== 'alerts',
  ).length;
  const isThere = isOnline && measured > 0;
  const isBlank = Object.keys(manifest?.telemetry ?? {}).length === 0;
  useEffect(() => {
    // The title tells when the first values have come.
    document.title = isThere ? say.adding.isThere(device.name) : say.adding.waitingFor(device.name);
  }, [isThere]);
  return (
    <Card title={say.adding.doesItWork} actions={<StatusBadge live={live} />} data-test="arrival">
      {live.isGone ? (
        <Notice kind="warning">{say.devices.isDeleted}</Notice>
      ) : isThere ? (
        <Notice kind="success">{say.adding.onlineWith(device.name, measured)}</Notice>
      ) : (
        <p class="waiting" role="status">
          {!isOnline
            ? say.adding.waitingFirst
            : isBlank
              ? say.adding.connectedWithout
              : say.adding.waitingValue}
        </p>
      )}
      {isOnline && <AlertChips live={live} />}
      {!isOnline && !hasScript && <p class="hint">{say.adding.nothingComes}</p>}
    </Card>
  );
}
