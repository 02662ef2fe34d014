/** A new device until it says something: what is missing yet, and what its log says meanwhile. */
import { useEffect } from 'preact/hooks';
import { type LiveDevice, loadDevice } from '../live.ts';
import { LogsTab } from '../pages/device-logs.tsx';
import { ConfigurationTab } from '../pages/device-configuration.tsx';
import { AlertChips, StatusBadge } from '../parts/value.tsx';
import { Awaited, Card, Notice, useAnswer } from '../ui.tsx';
import { say } from '../words/index.ts';

/** @param hasScript it is talked to by the gateway, and its settings are asked here */
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
  // That something is wrong is no measurement: a script says so of a device that it cannot reach, too.
  const measured = [...values.keys()].filter(
    (name) => name !== 'alert_details' && (manifest?.telemetry[name]?.type ?? 'alerts') !== 'alerts',
  ).length;
  const isThere = isOnline && measured > 0;
  const isBlank = Object.keys(manifest?.telemetry ?? {}).length === 0;
  useEffect(() => {
    // What arrives while this is looked at is told.
    document.title = isThere ? say.adding.isThere(device.name) : say.adding.waitingFor(device.name);
  }, [isThere]);
  return (
    <Card title={say.adding.doesItWork} actions={<StatusBadge live={live} />} data-test="arrival">
      {isThere ? (
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
