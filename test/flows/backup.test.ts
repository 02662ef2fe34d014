/** A backup: made over HTTP, taken over by another box, which goes on where the first one stopped. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { realPause } from '../../src/platform/clock/index.ts';
import { restoreBackup } from '../support/restore-backup.ts';
import { startTestGateway, type TestGateway, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from '../support/workspace.ts';

const PASSWORD = 'a long sentence';

describe('a backup is refused', () => {
  const gateway = useTestGateway();

  test('a backup is refused when the password is missing, too short or too long', async () => {
    for (const body of [{}, { password: 'short' }, { password: 'x'.repeat(257) }, { password: 12_345_678 }]) {
      const answer = await gateway().call('INSTALLER', 'POST', '/v3/backup', body);
      const { errors } = answer.body as { errors: { code: string; details: { field: string } }[] };
      assert.deepEqual(
        [answer.status, errors[0]?.code, errors[0]?.details.field],
        [400, 'invalid_body', 'password'],
      );
    }
  });

  test('a backup is refused while somebody else reads one, and allowed after it', async () => {
    const { gateway: program, token } = gateway();
    const first = await program.fetch(
      new Request('http://gateway.test/v3/backup', {
        method: 'POST',
        headers: { 'X-Service-Auth-Token': token('INSTALLER') },
        body: JSON.stringify({ password: PASSWORD }),
      }),
    );
    assert.equal(first.status, 200);
    const make = () => gateway().call('INSTALLER', 'POST', '/v3/backup', { password: PASSWORD });
    const refused = await make();
    assert.equal(refused.status, 409);
    assert.match(JSON.stringify(refused.body), /"backup_in_progress"/);
    await first.arrayBuffer();
    assert.equal((await make()).status, 200);
  });

  test('a backup is allowed again once the other caller has gone away, before its answer or in it', async () => {
    const { origin, token } = gateway();
    const make = (signal: AbortSignal) =>
      fetch(`${origin}/v3/backup`, {
        method: 'POST',
        headers: { 'X-Service-Auth-Token': token('INSTALLER') },
        body: JSON.stringify({ password: PASSWORD }),
        signal,
      });
    for (const afterMs of [0, 1, 2, 5, 10, 20, 40, 'its head', 'its head'] as const) {
      const leaving = new AbortController();
      const first = make(leaving.signal);
      if (afterMs === 'its head') await first;
      else await realPause(afterMs);
      leaving.abort();
      // Broken off, or complete by then.
      await Promise.allSettled([first.then((answer) => answer.arrayBuffer())]);
      const second = await make(new AbortController().signal);
      assert.equal(second.status, 200, `${afterMs}: ${second.status}`);
      assert.ok((await second.arrayBuffer()).byteLength > 0);
    }
    assert.deepEqual(
      gateway().lines.filter(({ level }) => level === 'error'),
      [],
    );
  });
});

/** As the plan tells it. */
async function lastTaken({ ok }: TestGateway): Promise<string | null> {
  const { backup_plan: plan } = await ok('OWNER', 'GET', '/v3/backup/plan');
  return (plan as { last_taken_at: string | null }).last_taken_at;
}

test('another box continues after a restore: devices, their credentials, tokens, keys', async (t) => {
  const environment = { GATEWAY_MQTTS: 'true' };
  const first = await startTestGateway(t, { environment });
  await first.ok('OWNER', 'PATCH', '/v3/site', { name: 'Halle Süd 3' });
  const device = await first.provision('Meter');
  const generate = `/v3/devices/${device.id}/generate_config`;
  device.take((await first.ok('OWNER', 'POST', generate, { protocol: 'MQTT' }))['config']);
  const { token } = await first.ok('INSTALLER', 'POST', '/v3/auth/tokens', { name: 'script', role: 'OWNER' });
  const execute = `/v3/devices/${device.id}/command_executions`;
  await device.connect();
  const { execution_id: id } = await first.ok('OWNER', 'POST', execute, {
    name: 'set_charge_limit',
    arguments: { limit_w: 500 },
  });
  await until(() => device.requests.length === 1);

  const documents = `/v3/devices/${device.id}/documents`;
  await first.ok('OWNER', 'POST', `${documents}?name=Manual`, Buffer.from('%PDF-1.7 of the meter'));
  await first.ok('OWNER', 'PATCH', `/v3/devices/${device.id}`, { room: 'Keller', notes: 'Sicherung F3' });

  assert.equal(await lastTaken(first), null);
  const answer = await first.request('INSTALLER', 'POST', '/v3/backup', { password: PASSWORD });
  assert.equal(answer.headers.get('content-type'), 'application/octet-stream');
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.match(
    answer.headers.get('content-disposition') ?? '',
    /^attachment; filename="halle-sud-3-\d{4}-\d\d-\d\dT\d{6}\.backup"$/,
  );
  const bytes = Buffer.from(await answer.arrayBuffer());
  const { entries } = await first.ok('OWNER', 'GET', '/v3/audit?limit=1');
  const [entry] = entries as { operation: string; at: string }[];
  assert.equal(entry?.operation, 'create_backup');
  assert.equal(await lastTaken(first), entry.at);
  await first.stop();

  const folder = temporaryFolder(t);
  const dataDir = join(folder, 'data');
  const path = join(folder, 'site.backup');
  writeFileSync(path, bytes);
  await restoreBackup(path, PASSWORD, dataDir);

  const second = await startTestGateway(t, { dataDir, environment });
  const as = { token: token as string };
  const { site } = await second.ok(as, 'GET', '/v3/site');
  assert.equal((site as { name: string }).name, 'Halle Süd 3');
  const authority = (home: string): string => readFileSync(join(home, 'tls', 'authority.pem'), 'utf8');
  assert.equal(authority(dataDir), authority(first.dataDir));
  const { execution } = await second.ok(
    as,
    'GET',
    `/v3/devices/${device.id}/command_executions/${String(id)}`,
  );
  const listed = await second.ok(as, 'GET', documents);
  const [manual] = listed['documents'] as { id: string; name: string }[];
  assert.equal(manual?.name, 'Manual');
  const content = await second.request(as, 'GET', `${documents}/${manual.id}/content`);
  assert.equal(await content.text(), '%PDF-1.7 of the meter');
  const noted = await second.ok(as, 'GET', `/v3/devices/${device.id}?expand=room,notes`);
  const { room, notes } = noted['device'] as { room: string; notes: string };
  assert.deepEqual([room, notes], ['Keller', 'Sicherung F3']);
  // Under way then; the request is not sent a second time.
  assert.equal((execution as { state: string }).state, 'TIMEOUT');

  await device.open({ port: second.ports.mqttPort });
  const connectivity = async (): Promise<unknown> => {
    const answered = await second.ok(as, 'GET', `/v3/devices/${device.id}?expand=connectivity`);
    return (answered['device'] as { connectivity: { status: string } }).connectivity.status;
  };
  await until(async () => (await connectivity()) === 'ONLINE');
  assert.equal(device.requests.length, 1);
});
