/** Every operation answers generated requests as the description says; many more: npm run check -- requests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareStock, startReceiver } from '../../scripts/checks/requests/prepare.ts';
import { checkRequests } from '../../scripts/checks/requests/run.ts';
import { runs } from '../support/runs.ts';
import { startTestGateway } from '../support/test-gateway.ts';

const REQUESTS = runs(600);

test('every operation answers fitting, faulty and hostile requests as described', async (t) => {
  const seed = Math.floor(performance.timeOrigin) % 2 ** 31;
  t.diagnostic(`seed ${seed}`);
  const served = await startTestGateway(t);
  const device = await served.provision();
  await device.connect();
  device.obey();
  await device.telemetry({ alerts: ['battery_low'] });
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const stock = await prepareStock(
    { json: ({ path, method = 'GET', body }) => served.ok('INSTALLER', method, `/v3${path}`, body) },
    device,
    served.dataDir,
    receiver.url,
    async (path, upload) => {
      const answer = await served.request('INSTALLER', upload ? 'POST' : 'GET', path, upload);
      return Buffer.from(await answer.arrayBuffer());
    },
  );
  const report = await checkRequests({
    origin: served.origin,
    tokens: {
      INSTALLER: served.token('INSTALLER'),
      OWNER: served.token('OWNER'),
      USER: served.token('USER'),
      READONLY: served.token('READONLY'),
    },
    stock,
    seed,
    requests: REQUESTS,
    width: 4,
  });
  assert.deepEqual(report.failures, []);
  assert.equal(report.byStatus.get(500), undefined);
  assert.ok((report.byStatus.get(200) ?? 0) > REQUESTS / 20, JSON.stringify([...report.byStatus]));
});
