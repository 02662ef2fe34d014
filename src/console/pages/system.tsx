/** The gateway itself: its health, version and where programs find more. */
import { call } from '../api.ts';
import { deviceIds, type LiveDevice, liveDevice, loadDevice, loadDevices, watchValues } from '../live.ts';
import { BackupCard } from '../parts/backup.tsx';
import { may } from '../session.ts';
import { Card, ErrorNotice, Fact, Loading, PageHead, useAnswer } from '../ui.tsx';
import { ValuesTab } from './device-values.tsx';

async function loadGateway(): Promise<LiveDevice | undefined> {
  if (deviceIds.value === undefined) await loadDevices();
  const found = deviceIds.value?.map(liveDevice).find((live) => live?.device.type === 'GATEWAY');
  if (!found) return undefined;
  const live = await loadDevice(found.device.id);
  await watchValues(new Map([[live.device.id, Object.keys(live.manifest?.telemetry ?? {})]]));
  return live;
}

export function SystemPage() {
  const gateway = useAnswer(loadGateway, []);
  const health = useAnswer(() => call<{ status: string; version: string }>('GET', '/healthz'), []);
  return (
    <>
      <PageHead title="System">
        {gateway.answer && (
          <a class="button" href={`#/devices/${encodeURIComponent(gateway.answer.device.slug)}/chart`}>
            Charts and logs
          </a>
        )}
      </PageHead>
      <ErrorNotice error={gateway.error ?? health.error} />
      <Card title="Program">
        <dl class="facts wide">
          <Fact name="Version">{health.answer?.version ?? '–'}</Fact>
          <Fact name="Health">{health.answer ? 'Everything serves' : '–'}</Fact>
          <Fact name="Metrics">
            <a href="/metrics">for Prometheus</a>
          </Fact>
          <Fact name="API">
            <a href="/docs">reference</a>, <a href="/docs/manual">manual</a>,{' '}
            <a href="/v3/openapi.json">OpenAPI</a>
          </Fact>
        </dl>
      </Card>
      {gateway.answer ? <ValuesTab live={gateway.answer} /> : gateway.error === undefined && <Loading />}
      {may('INSTALLER') && <BackupCard />}
    </>
  );
}
