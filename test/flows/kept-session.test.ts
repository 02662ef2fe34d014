/** A device with a kept session, whose connection ends before it acknowledged a command. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { MockDevice } from '../support/mock-device.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const KEPT = { clientId: 'kept', clean: false };

interface Interrupted {
  gateway: TestGateway;
  device: MockDevice;
  id: string;
  execution: Promise<Record<string, unknown>>;
  /** Ends the session that got the request and did not acknowledge it. */
  lose: () => Promise<void>;
}

async function startInterrupted(t: TestContext, environment = {}): Promise<Interrupted> {
  const gateway = await startTestGateway(t, { environment });
  const device = await gateway.provision();
  const { client, closed } = await device.connect(KEPT);
  client.handleMessage = () => undefined;
  const execution = execute(gateway, device, 'start');
  await until(() => device.requests.length === 1);
  const id = device.requests.splice(0)[0]?.id ?? '';
  const lose = (): Promise<void> => {
    client.stream.destroy();
    return closed;
  };
  return { gateway, device, id, execution, lose };
}

async function execute(
  { ok }: TestGateway,
  { slug }: MockDevice,
  name: string,
): Promise<Record<string, unknown>> {
  const body = await ok('USER', 'POST', `/v3/devices/${slug}/commands/execute`, { name });
  return body['execution'] as Record<string, unknown>;
}

/** What the session gets when it returns, before the next command. */
async function repeated({ gateway, device }: Interrupted): Promise<string[]> {
  device.obey();
  await device.connect(KEPT);
  await execute(gateway, device, 'stop');
  return device.requests.filter(({ name }) => name === 'start').map(({ id }) => id);
}

describe('a command that was not acknowledged before the connection ended', () => {
  test('an unacknowledged command reaches the device when it returns while the caller still waits', async (t) => {
    const lost = await startInterrupted(t);
    await lost.lose();
    assert.deepEqual(await repeated(lost), [lost.id]);
    assert.equal((await lost.execution)['state'], 'SUCCESS');
  });

  test('an unacknowledged command is not carried out after its caller got TIMEOUT', async (t) => {
    const lost = await startInterrupted(t, { GATEWAY_COMMAND_TIMEOUT_S: '1' });
    await lost.lose();
    assert.equal((await lost.execution)['state'], 'TIMEOUT');
    assert.deepEqual(await repeated(lost), []);
  });

  for (const state of ['completed', 'log'])
    test(`an unacknowledged command is not sent again when another session of the device answered "${state}"`, async (t) => {
      const lost = await startInterrupted(t);
      await lost.device.open();
      await lost.device.answer(lost, state);
      await lost.lose();
      assert.deepEqual(await repeated(lost), []);
      if (state === 'log') await lost.device.answer(lost, 'completed');
      assert.equal((await lost.execution)['state'], 'SUCCESS');
    });
});
