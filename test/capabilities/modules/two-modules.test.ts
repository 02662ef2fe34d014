/** Two boards with the connection configuration of one module, over real MQTT. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { FromModule } from '../../../src/protocol/module.ts';
import { startTestGateway } from '../../support/test-gateway.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { PlayedModule, provisionModule } from './played-module.ts';

const hello = (run: string): FromModule => ({ type: 'hello', version: 1, run, offers: ['modbus'] });

test('a running module goes on when a second one has the same configuration, and the other follows it', async (t) => {
  const gateway = await startTestGateway(t);
  const first = await provisionModule(gateway, 'Board', 'V00000000000000000000000000000002');
  const second = new PlayedModule(gateway.deviceOf(first.device.provisioned));
  const begin = async (module: PlayedModule, run: string) => {
    const session = await module.connect();
    module.messages.length = 0;
    await module.say(hello(run));
    return session;
  };

  const firstSession = await begin(first, 'r1');
  assert.equal((await first.next('assignments')).run, 'r1');
  const refusedSession = await begin(second, 'r2');
  const { run, reason } = await second.next('refused');
  assert.equal(run, 'r2');
  assert.match(
    reason,
    /same connection configuration is connected from 127\.0\.0\.1.*provision another module/,
  );
  await refusedSession.closed;
  assert.equal(firstSession.isClosed, false);
  await until(async () => {
    const path = `/v3/devices/${first.device.id}/logs?show=ALL`;
    const { logs } = (await gateway.ok('OWNER', 'GET', path)) as { logs: { message: string }[] };
    return logs.some(({ message }) => message === reason);
  });

  // The same start on another connection is no other module.
  await begin(first, 'r1');
  assert.equal((await first.next('assignments')).run, 'r1');

  await first.device.leave();
  await until(async () => {
    // The gateway may not have seen yet that the first one is gone.
    const { closed } = await begin(second, 'r2');
    await until(() => second.messages.length > 0);
    if (second.messages[0]?.type === 'assignments') return true;
    await closed;
    return false;
  });
});

test('a module is told the time again once an hour, and as soon as the clock of the gateway is set', async (t) => {
  const clock = new TestClock();
  const gateway = await startTestGateway(t, { clock });
  const { settled } = gateway;
  const body = { name: 'Board', hardware_id: 'V00000000000000000000000000000003' };
  const made = await gateway.ok('OWNER', 'POST', '/v3/provisioning/vucm', body);
  const module = new PlayedModule(gateway.deviceOf(made));
  await module.connect();
  await module.say(hello('r1'));
  // Assignments that were on their way already tell the time before.
  const isToldNow = async (): Promise<void> => {
    for (;;) {
      const { now_ms } = await settled(module.next('assignments'));
      if (now_ms !== undefined && Math.abs(clock.wallMs() - now_ms) < 60_000) return;
    }
  };
  await isToldNow();
  clock.step(7_200_000);
  await isToldNow();
  for (let passedMs = 0; passedMs < LIMITS.module.assignAgainMs; passedMs += 60_000) {
    await clock.advance(60_000);
    // It stays connected.
    await module.device.telemetry({});
  }
  await isToldNow();
});
