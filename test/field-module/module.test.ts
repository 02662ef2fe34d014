/** The whole module with its threads, against a broker on a real socket. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { STUCK_BOMB } from '../../scripts/support/script-zoo.ts';
import { LIMITS, type Limits } from '../../src/lib/limits.ts';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import { CommunicationModule } from '../../src/field-module/module.ts';
import { until } from '../support/until.ts';
import { recordingLog } from '../support/workspace.ts';
import { isIn, type StandInGateway, startStandInGateway } from './stand-in-gateway.ts';

const clock = createSystemClock();
after(() => clock.close());

function start(
  gateway: StandInGateway,
  limits: Partial<Limits['module']> = {},
  { log } = recordingLog(clock),
  ownClock: Clock = clock,
): CommunicationModule {
  return new CommunicationModule({
    configuration: { connection: gateway.connection, ports: {}, ioPorts: {} },
    clock: ownClock,
    log,
    run: randomUUID(),
    limits: { ...LIMITS, module: { ...LIMITS.module, ...limits } },
  });
}

/** Sends a number every 50 ms. */
const TICKING = `
  local count = 0
  scheduler.add(50, function() count = count + 1 enapter.send_telemetry({ count = count }) end)`;

const counts = (gateway: StandInGateway, channelId: string): number[] =>
  gateway.bodies(channelId, 'v1/telemetry').map(({ count }) => Number(count));

describe('a communication module', () => {
  let gateway: StandInGateway;
  let module: CommunicationModule;
  const recorded = recordingLog(clock);
  before(async () => {
    gateway = await startStandInGateway();
    module = start(gateway, { clockDoubtMs: 50 }, recorded);
  });
  after(async () => {
    await module.stop();
    await gateway.stop();
  });

  test('a communication module sends hello, reports its properties, and refuses unknown commands', async () => {
    await until(() => gateway.bodies('ucm', 'v1/telemetry').length > 0);
    const [hello] = gateway.said;
    assert.ok(hello?.type === 'hello' && hello.version === 1 && hello.offers.includes('modbus'));
    const [heartbeat] = gateway.bodies('ucm', 'v1/telemetry');
    assert.deepEqual(
      { ...heartbeat, timestamp: 0 },
      { timestamp: 0, alerts: [], status: 'ok', scripts_running: 0, scripts_failed: 0, ports_failed: 0 },
    );
    const [properties] = gateway.bodies('ucm', 'v1/register');
    assert.deepEqual({ ...properties, timestamp: 0 }, { timestamp: 0, virtual: true, lua_api_ver: 3 });
    gateway.command('ucm', 'own', 'explode');
    gateway.command('nobody', 'other', 'start');
    await until(() => gateway.heard.filter(({ subject }) => subject === 'v1/command/responses').length === 2);
    assert.deepEqual(gateway.bodies('ucm', 'v1/command/responses'), [
      { id: 'own', state: 'error', payload: { message: 'command handler not implemented' } },
    ]);
    assert.deepEqual(gateway.bodies('nobody', 'v1/command/responses'), [
      { id: 'other', state: 'error', payload: { message: 'script is not running' } },
    ]);
  });

  test('a communication module names what is wrong with a script, in its status and in the log of the device', async () => {
    gateway.assign([
      { channelId: 'syntax', script: 'local x = = 1' },
      { channelId: 'raises', script: "error('no such inverter')" },
      { channelId: 'fine', script: TICKING },
    ]);
    await isIn(gateway, 'syntax', 'failed');
    await isIn(gateway, 'raises', 'failed');
    await until(() => counts(gateway, 'fine').length > 2);
    const reasons = gateway.said.flatMap((message) =>
      message.type === 'status' && message.state === 'failed' ? [message.reason ?? ''] : [],
    );
    assert.ok(reasons.some((reason) => /main\.lua:1: unexpected symbol/.test(reason)));
    assert.ok(reasons.some((reason) => /main\.lua:1: no such inverter/.test(reason)));
    await until(() => gateway.bodies('raises', 'v3/logs').length > 0);
    const [entry] = gateway.bodies('raises', 'v3/logs');
    assert.ok(entry?.severity === 'error' && entry.persist === true);
    assert.match(String(entry.message), /no such inverter/);
    await until(() => module.scriptsFailed === 2 && module.scriptsRunning === 1);
  });

  test('a communication module runs commands, keeps storage at the gateway, and asks other devices', async () => {
    gateway.assign([
      {
        channelId: 'worker',
        script: `
          enapter.register_command_handler('remember', function(ctx, args)
            local err = storage.write('key', args.text)
            if err then ctx.error(err) end
            local value = storage.read('key')
            local missing, reason = storage.read('other')
            storage.remove('key')
            local gone, why = storage.read('key')
            return { value = value, reason = reason, why = why, number = tostring(args.number) }
          end)
          enapter.register_command_handler('ask', function()
            local state, payload, err = ucm.new('H2', 'rl6'):execute_command('close', { ch = 3, id = 9007199254740993 }, { timeout = 500 })
            return { state = state, target = payload.target, ch = payload.ch, id = tostring(payload.id), err = err }
          end)`,
      },
    ]);
    await isIn(gateway, 'worker', 'running');
    gateway.command('worker', 'e1', 'remember', { text: 'grün', number: 2n ** 53n + 1n });
    gateway.command('worker', 'e2', 'ask');
    await until(() => gateway.bodies('worker', 'v1/command/responses').length === 2);
    assert.deepEqual(gateway.bodies('worker', 'v1/command/responses'), [
      {
        id: 'e1',
        state: 'completed',
        payload: { value: 'grün', reason: 'NotFound', why: 'NotFound', number: '9007199254740993' },
      },
      {
        id: 'e2',
        state: 'completed',
        payload: { state: 'completed', target: 'H2', ch: 3, id: '9007199254740993' },
      },
    ]);
    assert.equal(gateway.storage.size, 0);
  });

  test('a communication module applies a new configuration without a restart', async () => {
    const script = `
      enapter.log('start')
      configuration.after_write('a', function(values) enapter.log('a ' .. values.x) end)
      configuration.after_write('b', function(values) enapter.log('b ' .. values.x) end)`;
    const device = { channelId: 'conf', script, groups: { a: { x: 1 }, b: { x: 1 } } };
    gateway.assign([device]);
    await isIn(gateway, 'conf', 'running');
    const logs = (): unknown[] => gateway.bodies('conf', 'v3/logs').map(({ message }) => message);
    const large = 2n ** 53n + 1n;
    gateway.configure('conf', { a: { x: large }, b: { x: 1 } }, []);
    await until(() => logs().length === 2);
    // The same values, but somebody wrote them.
    gateway.configure('conf', { a: { x: large }, b: { x: 1 } }, ['b']);
    await until(() => logs().length === 3);
    assert.deepEqual(logs(), ['start', `a ${large}`, 'b 1']);
  });

  test('a communication module leaves a script alone that is assigned again, replaces a changed one, stops one that is gone', async () => {
    const keep = { channelId: 'keep', script: TICKING };
    gateway.assign([keep, { channelId: 'change', script: TICKING }, { channelId: 'go', script: TICKING }]);
    for (const channelId of ['keep', 'change', 'go'])
      await until(() => counts(gateway, channelId).length > 2);
    gateway.assign([keep, { channelId: 'change', script: `${TICKING} -- changed` }]);
    await isIn(gateway, 'go', 'stopped');
    // It was running before, too: its second beginning tells.
    const begins = (): number => counts(gateway, 'change').filter((count) => count === 1).length;
    await until(() => begins() === 2);
    await isIn(gateway, 'change', 'running');
    const before = counts(gateway, 'keep').length;
    const goneAt = counts(gateway, 'go').length;
    await until(() => counts(gateway, 'keep').length > before + 3);
    const seen = counts(gateway, 'keep');
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
    );
    assert.equal(counts(gateway, 'go').length, goneAt);
    assert.equal(begins(), 2);
  });

  test('a communication module keeps scripts running while the gateway is away, and later sends what must not be lost', async () => {
    gateway.assign([
      {
        channelId: 'away',
        script: `
          local count = 0
          scheduler.add(50, function() count = count + 1 enapter.send_telemetry({ count = count }) end)
          enapter.on_connection_status_changed(function(connected)
            enapter.log(connected and 'back' or 'lost', 'info', true)
          end)`,
      },
    ]);
    await until(() => counts(gateway, 'away').length > 2);
    const last = counts(gateway, 'away').at(-1) ?? 0;
    await gateway.interrupt();
    await clock.sleep(300);
    await gateway.resume();
    await until(() => gateway.bodies('away', 'v3/logs').length === 2);
    await until(() => (counts(gateway, 'away').at(-1) ?? 0) > last + 3);
    // It was not started again: the count went on.
    assert.equal(counts(gateway, 'away').filter((count) => count === 1).length, 1);
    assert.deepEqual(
      gateway.bodies('away', 'v3/logs').map(({ message }) => message),
      ['lost', 'back'],
    );
  });

  test('a communication module runs nothing and answers no command while another one with its credentials is active', async () => {
    const run = gateway.said.flatMap((message) => (message.type === 'hello' ? [message.run] : [])).at(-1);
    gateway.assign([{ channelId: 'twice', script: TICKING }]);
    await isIn(gateway, 'twice', 'running');
    gateway.say({ type: 'refused', run: run ?? assert.fail(), reason: 'another one is there' });
    await isIn(gateway, 'twice', 'stopped');
    gateway.command('twice', 'e1', 'start');
    gateway.command('ucm', 'e2', 'reboot');
    const countBefore = counts(gateway, 'twice').length;
    await clock.sleep(300);
    assert.equal(counts(gateway, 'twice').length, countBefore);
    const responses = (): unknown[] =>
      [
        ...gateway.bodies('twice', 'v1/command/responses'),
        ...gateway.bodies('ucm', 'v1/command/responses'),
      ].map(({ id }) => id);
    assert.ok(!responses().includes('e1') && !responses().includes('e2'));
    // It asks again and again, and says no more about it.
    const connects = (): number =>
      recorded.lines.filter(({ message }) => message === 'connected to the gateway').length;
    const connectsBefore = connects();
    await gateway.interrupt();
    // The other one has gone.
    await gateway.resume();
    await isIn(gateway, 'twice', 'running');
    await until(() => counts(gateway, 'twice').length > countBefore);
    assert.equal(connects(), connectsBefore);
    assert.ok(!responses().includes('e1') && !responses().includes('e2'));
  });

  test('a communication module runs no command before the gateway has confirmed it, and none that has waited for that', async () => {
    const mute = await startStandInGateway();
    mute.isMute = true;
    const other = start(mute, { answerMs: 300 });
    await until(() => mute.said.length > 0);
    const answered = (): unknown[] => mute.bodies('ucm', 'v1/command/responses').map(({ id }) => id);
    mute.command('ucm', 'old', 'explode');
    await clock.sleep(400);
    mute.command('ucm', 'new', 'explode');
    await clock.sleep(50);
    assert.deepEqual(answered(), []);
    mute.assign([]);
    await until(() => answered().length > 0);
    assert.deepEqual(answered(), ['new']);
    await other.stop();
    await mute.stop();
  });

  test('a communication module keeps the newest of many commands that come before its confirmation', async () => {
    const mute = await startStandInGateway();
    mute.isMute = true;
    const other = start(mute, { commandsWaiting: 2 });
    await until(() => mute.said.length > 0);
    for (const id of ['1', '2', '3']) mute.command('ucm', id, 'explode');
    await clock.sleep(50);
    mute.assign([]);
    const answered = (): unknown[] => mute.bodies('ucm', 'v1/command/responses').map(({ id }) => id);
    await until(() => answered().length === 2);
    assert.deepEqual(answered(), ['2', '3']);
    await other.stop();
    await mute.stop();
  });

  test('a communication module begins no command that may have waited too long while it stood still', async () => {
    const patient = await startStandInGateway();
    let stoodMs = 0;
    const standing = { ...clock, monotonicMs: () => clock.monotonicMs() + stoodMs };
    const other = start(patient, {}, undefined, standing);
    patient.assign([
      { channelId: 'doer', script: "enapter.register_command_handler('do', function() return {} end)" },
    ]);
    await isIn(patient, 'doer', 'running');
    const answers = (): unknown[] =>
      patient.bodies('doer', 'v1/command/responses').map(({ id, state }) => `${String(id)} ${String(state)}`);
    patient.command('doer', 'before', 'do');
    await until(() => answers().length === 1);
    stoodMs += LIMITS.commands.timeoutMs;
    patient.command('doer', 'meanwhile', 'do');
    await until(() => answers().length === 2);
    assert.deepEqual(answers(), ['before completed', 'meanwhile error']);
    await other.stop();
    await patient.stop();
  });

  test('a communication module sends no time of a clock that is wrong, and says so', async () => {
    const hear = async (aheadMs: number | undefined, isStamped: boolean): Promise<void> => {
      gateway.aheadMs = aheadMs;
      gateway.assign([{ channelId: 'clock', script: TICKING }]);
      await until(() => 'timestamp' in (gateway.bodies('clock', 'v1/telemetry').at(-1) ?? {}) === isStamped);
    };
    const logs = (): string[] => gateway.bodies('ucm', 'v3/logs').map(({ message }) => String(message));
    await hear(0, true);
    const hellos = (): number => gateway.said.filter(({ type }) => type === 'hello').length;
    const before = hellos();
    await hear(7_200_000, false);
    // The module asks the gateway before it informs scripts: the gateway's clock may have been set at the same time.
    await until(() => hellos() === before + 1);
    await until(() => logs().some((message) => /7200 s behind the gateway's.*set the clock/.test(message)));
    await hear(undefined, true);
    await until(() => logs().some((message) => /right again/.test(message)));
  });

  test('a communication module restarts on request, one or all', async () => {
    const script = "enapter.log('start')";
    gateway.assign([
      { channelId: 'r1', script },
      { channelId: 'r2', script },
    ]);
    const starts = (channelId: string): number => gateway.bodies(channelId, 'v3/logs').length;
    await until(() => starts('r1') === 1 && starts('r2') === 1);
    gateway.say({ type: 'restart', channel_id: 'r1' });
    await until(() => starts('r1') === 2);
    assert.equal(starts('r2'), 1);
    gateway.command('ucm', 'boot', 'reboot');
    await until(() => starts('r1') === 3 && starts('r2') === 2);
  });

  test('a communication module fetches damaged content again instead of running it', async () => {
    let damages = 0;
    gateway.tamper = (piece) => {
      if (damages++ === 0) piece.data.write('garbage');
    };
    const impatient = await startStandInGateway();
    const other = start(impatient, { answerMs: 100 });
    impatient.tamper = gateway.tamper;
    impatient.assign([{ channelId: 'late', script: TICKING }]);
    await until(() => counts(impatient, 'late').length > 0);
    assert.ok(damages >= 3);
    gateway.tamper = undefined;
    await other.stop();
    await impatient.stop();
  });
});

describe('a script that hurts', () => {
  const STUCK = `scheduler.add(200, function() ${STUCK_BOMB} end)`;

  test('a script stuck in C code is ended with its thread and named; its neighbours go on', async () => {
    const gateway = await startStandInGateway();
    const module = start(gateway);
    gateway.assign([
      { channelId: 'stuck', script: STUCK },
      { channelId: 'neighbour', script: TICKING },
    ]);
    await isIn(gateway, 'stuck', 'failed');
    const status = gateway.said.findLast(
      (message) => message.type === 'status' && message.channel_id === 'stuck',
    );
    assert.match(status?.type === 'status' ? (status.reason ?? '') : '', /execution time exceeded/);
    await until(() => counts(gateway, 'neighbour').filter((count) => count === 1).length === 2);
    const logs = gateway.bodies('neighbour', 'v3/logs').map(({ message }) => String(message));
    assert.match(logs.join('\n'), /restarted: a script beside it was stuck/);
    await module.stop();
    await gateway.stop();
  });
});
