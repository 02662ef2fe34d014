/** Telemetry as CSV files by day: nothing lost and nothing doubled, whatever happens to box and stick. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { refusal, startTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from '../support/workspace.ts';

/** Time of the test, which may run long after its file was read: values older than minutes count as history. */
let nowS = 0;
beforeEach(() => {
  nowS = Math.floor(Date.now() / 1_000);
});
const DAY_S = 86_400;

function rowsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.csv'))
    .flatMap(({ parentPath, name }) =>
      readFileSync(join(parentPath, name), 'utf8').trimEnd().split('\n').slice(1),
    );
}

test('a folder target on a stick gets late samples, and survives removal and restarts', async (t) => {
  const stick = join(temporaryFolder(t), 'stick');
  mkdirSync(stick);
  const gateway = await startTestGateway(t);
  const device = await gateway.provision('Battery');
  await device.connect();
  const body = { name: 'stick', kind: 'FOLDER', folder: { path: stick, piece_minutes: 1_440 } };
  const missing = { ...body, folder: { path: '/media/nobody' } };
  assert.equal(refusal(await gateway.call('OWNER', 'POST', '/v3/targets', missing)), '400 invalid_body');
  const loop = `${stick}-loop`;
  symlinkSync(loop, loop);
  const unusable = { ...body, folder: { path: loop } };
  assert.equal(refusal(await gateway.call('OWNER', 'POST', '/v3/targets', unusable)), '400 invalid_body');
  const { target } = await gateway.ok('OWNER', 'POST', '/v3/targets', {
    ...body,
    selection: { attributes: ['battery_power'] },
  });
  const { id } = target as { id: string };
  assert.deepEqual(await gateway.ok('OWNER', 'POST', `/v3/targets/${id}/test`), { test: { accepted: true } });
  const statusOf = async () =>
    ((await gateway.ok('OWNER', 'GET', `/v3/targets/${id}`))['target'] as { status: Record<string, unknown> })
      .status;
  const { device: described } = await gateway.ok('READONLY', 'GET', `/v3/devices/${device.id}`);
  const { slug } = described as { slug: string };
  const expected: string[] = [];
  const send = async (fromS: number): Promise<void> => {
    for (let index = 0; index < 5; index++) {
      const atS = fromS + index;
      await device.telemetry({ timestamp: atS, battery_power: index });
      expected.push(
        `${new Date(atS * 1_000).toISOString().replace('.000', '')},${slug},battery_power,${index}`,
      );
    }
  };
  const restart = async (): Promise<void> => {
    await gateway.restart();
    await device.connect();
  };
  await send(nowS - 100);
  await until(async () => (await statusOf())['lag_samples'] === 5);
  await restart();
  assert.deepEqual(rowsIn(stick).toSorted(), expected.toSorted());
  renameSync(stick, `${stick}-away`);
  await send(nowS - 50);
  await send(nowS - 3 * DAY_S);
  await until(async () => (await statusOf())['state'] === 'FAILING');
  renameSync(`${stick}-away`, stick);
  await until(async () => (await statusOf())['state'] === 'CURRENT');
  await restart();
  assert.deepEqual(rowsIn(stick).toSorted(), expected.toSorted());
  const status = await statusOf();
  assert.deepEqual([status['sent_samples'], status['lost_samples']], [15, 0]);
});
