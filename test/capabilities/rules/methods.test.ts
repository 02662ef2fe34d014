/** Questions of scripts and their answers: docs/interface/lua-rules.md#devices. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RuleAnswer } from '../../../src/protocol/rule-sandbox.ts';
import { settle } from '../../support/test-clock.ts';
import { batteryManifest, newRule, type Site, startSite } from './support.ts';

const NOWHERE = '00000000-0000-4000-8000-00000000dead';
const no = (error: string): RuleAnswer => ({ ok: false, error });
const yes = (result: unknown): RuleAnswer => ({ ok: true, result }) as RuleAnswer;
const execute = (deviceId: string, more: object = {}) => ({
  deviceId,
  name: 'charge',
  arguments: { limit_w: 100 },
  timeoutMs: 10_000,
  ephemeral: false,
  ...more,
});

async function siteWithBattery(
  t: Parameters<typeof startSite>[0],
  options?: Parameters<typeof startSite>[1],
) {
  const site = await startSite(t, options);
  const device = site.addDevice({ slug: 'battery', manifest: batteryManifest() });
  return { site, device };
}

describe('a rule is refused', () => {
  test('a rule is refused every request about a device that does not exist', async (t) => {
    const { site, device } = await siteWithBattery(t);
    assert.deepEqual(
      await site.request('find_device', { idOrSlug: 'nobody' }),
      no('device "nobody" not found'),
    );
    const { id: deviceId } = device;
    site.deleteDevice(device);
    const gone = no('device not found');
    assert.deepEqual(await site.request('device_online', { deviceId }), gone);
    assert.deepEqual(await site.request('device_profiles', { deviceId }), gone);
    assert.deepEqual(await site.request('property', { deviceId, name: 'model' }), gone);
    assert.deepEqual(await site.request('properties', { deviceId }), gone);
    assert.deepEqual(await site.request('latest', { deviceId, name: 'soc', relevanceMs: 30_000 }), gone);
    assert.deepEqual(
      await site.request('aggregate', { deviceId, name: 'soc', kind: 'avg', windowMs: 1_000 }),
      gone,
    );
    assert.deepEqual(await site.request('execute', execute(deviceId)), gone);
    assert.deepEqual(await site.request('device_online', { deviceId: NOWHERE }), gone);
  });

  test('a rule is refused names that the manifest does not declare, and those of the level system', async (t) => {
    const { site, device } = await siteWithBattery(t);
    const { id: deviceId } = device;
    for (const name of ['nothing', 'secret', 'constructor', '__proto__']) {
      const unknown = no(`unknown telemetry attribute "${name}"`);
      assert.deepEqual(await site.request('latest', { deviceId, name, relevanceMs: 30_000 }), unknown);
      assert.deepEqual(
        await site.request('aggregate', { deviceId, name, kind: 'max', windowMs: 1_000 }),
        unknown,
      );
    }
    assert.deepEqual(
      await site.request('property', { deviceId, name: 'nothing' }),
      no('unknown property "nothing"'),
    );
  });

  test('a rule is refused values of an offline device, stale values, and values that never came', async (t) => {
    const { site, device } = await siteWithBattery(t);
    const latest = { deviceId: device.id, name: 'soc', relevanceMs: 30_000 };
    const none = no('no recent value of "soc"');
    assert.deepEqual(await site.request('latest', latest), none);
    await site.measure(device, { soc: 50 });
    await site.clock.advance(31_000);
    assert.deepEqual(await site.request('latest', latest), none);
    assert.equal((await site.request('latest', { ...latest, relevanceMs: 60_000 })).ok, true);
    site.setListening(device, 0);
    assert.deepEqual(
      await site.request('latest', { ...latest, relevanceMs: 60_000 }),
      no('device is offline'),
    );
  });

  test('a rule is refused one of several questions, and the others are answered', async (t) => {
    const { site, device } = await siteWithBattery(t);
    const { id: deviceId } = device;
    await site.measure(device, { soc: 50 });
    const answer = await site.request('several', {
      requests: [
        { method: 'latest', parameters: { deviceId, name: 'soc', relevanceMs: 30_000 } },
        { method: 'latest', parameters: { deviceId, name: 'nothing', relevanceMs: 30_000 } },
        { method: 'find_device', parameters: { idOrSlug: 'nobody' } },
        { method: 'device_online', parameters: { deviceId } },
      ],
    });
    assert.ok(answer.ok);
    const [soc, ...others] = answer.result as RuleAnswer[];
    assert.equal(soc?.ok === true && (soc.result as { value: unknown }).value, 50);
    assert.deepEqual(others, [
      no('unknown telemetry attribute "nothing"'),
      no('device "nobody" not found'),
      { ok: true, result: true },
    ]);
  });

  test('a rule is refused a stale value although the device has since reported that it could not measure', async (t) => {
    const { site, device } = await siteWithBattery(t);
    await site.measure(device, { soc: 50 });
    await site.clock.advance(1_000);
    await site.measure(device, { soc: 'broken' });
    await site.clock.advance(29_500);
    const answer = await site.request('latest', { deviceId: device.id, name: 'soc', relevanceMs: 30_000 });
    assert.deepEqual(answer, no('no recent value of "soc"'));
  });

  test('a rule is refused aggregates of non-numbers, and of an interval without a value', async (t) => {
    const { site, device } = await siteWithBattery(t);
    const asked = { deviceId: device.id, kind: 'avg', windowMs: 10_000 } as const;
    assert.deepEqual(
      await site.request('aggregate', { ...asked, name: 'status' }),
      no('"status" is not numeric'),
    );
    assert.deepEqual(
      await site.request('aggregate', { ...asked, name: 'alerts' }),
      no('"alerts" is not numeric'),
    );
    const none = no('no value of "soc" in the interval');
    assert.deepEqual(await site.request('aggregate', { ...asked, name: 'soc' }), none);
    await site.measure(device, { soc: 50 });
    await site.clock.advance(60_000);
    assert.deepEqual(await site.request('aggregate', { ...asked, name: 'soc' }), none);
  });

  test('a rule is refused commands that the device lacks or must not get; nothing is sent or recorded', async (t) => {
    const { site, device } = await siteWithBattery(t);
    const refusals: [more: object, error: RegExp][] = [
      [{ name: 'explode' }, /no command "explode"/],
      [{ name: 'calibrate', arguments: {} }, /role/],
      [{ arguments: {} }, /limit_w/],
      [{ arguments: { limit_w: -1 } }, /limit_w/],
      [{ arguments: { limit_w: 'much' } }, /limit_w/],
      [{ name: 'plan', arguments: { days: { monday: true } } }, /days/],
    ];
    for (const [more, error] of refusals) {
      const answer = await site.request('execute', execute(device.id, more));
      assert.match(answer.ok ? 'ok' : answer.error, error);
    }
    site.setListening(device, 0);
    assert.deepEqual(await site.request('execute', execute(device.id)), no('device is offline'));
    assert.deepEqual(site.sent, []);
    assert.equal(executionsOf(site).length, 0);
  });

  test("a rule gets the device's message, an error without one, or timeout when a command fails", async (t) => {
    const { site, device } = await siteWithBattery(t);
    for (const [payload, text] of [
      [{ message: 'too hot' }, 'too hot'],
      [{ code: 5 }, 'The device reported an error without a message.'],
    ] as const) {
      const asked = site.request('execute', execute(device.id));
      await respond(site, 'error', payload);
      assert.deepEqual(await asked, no(text));
    }
    const asked = site.request('execute', execute(device.id, { timeoutMs: 500 }));
    await settle();
    await site.clock.advance(500);
    assert.deepEqual(await asked, no('timeout'));
    assert.deepEqual(
      executionsOf(site).map(({ state }) => state),
      ['ERROR', 'ERROR', 'IN_PROGRESS'],
      'the command itself goes on',
    );
  });

  test('a rule is refused keys, values and stores that are too large; what was there stays', async (t) => {
    const { site } = await siteWithBattery(t, { limits: { storageBytes: 100, storageValueBytes: 60 } });
    const write = (key: string, value: string) =>
      site.request('storage_write', { store: 'rule', key, value });
    assert.deepEqual(await write('a', '"first"'), yes(null));
    assert.deepEqual(await write('é'.repeat(65), '1'), no('a key has at most 128 bytes'));
    assert.deepEqual(await write(`\uffff${'ÿ'.repeat(129)}`, '1'), no('a key has at most 128 bytes'));
    assert.deepEqual(
      await write(`\uffff${'ÿ'.repeat(128)}`, '1'),
      no('the store holds at most 100 bytes'),
      'bytes that are no characters count as the script has them',
    );
    assert.deepEqual(await write('a', `"${'x'.repeat(60)}"`), no('a value has at most 60 bytes'));
    assert.deepEqual(await write('b', `"${'x'.repeat(50)}"`), yes(null));
    assert.deepEqual(await write('c', `"${'x'.repeat(50)}"`), no('the store holds at most 100 bytes'));
    assert.deepEqual(await write('b', `"${'y'.repeat(58)}"`), yes(null), 'what is replaced does not count');
    assert.deepEqual(await site.request('storage_read', { store: 'rule', key: 'a' }), yes('"first"'));
    assert.deepEqual(await site.request('storage_read', { store: 'rule', key: 'c' }), yes(null));
  });

  test('a rule is refused storing with a text while the disk takes nothing', async (t) => {
    const { site } = await siteWithBattery(t);
    site.state
      .prepare(
        `CREATE TRIGGER full BEFORE INSERT ON rule_storage BEGIN SELECT raise(ABORT, 'disk full'); END`,
      )
      .run();
    const answer = await site.request('storage_write', { store: 'rule', key: 'a', value: '1' });
    assert.match(answer.ok ? 'ok' : answer.error, /^the gateway cannot store anything now: /);
  });
});

describe('a command of a rule behind a disk that hangs', () => {
  for (const [what, hangsMs, sent] of [
    ['is sent within some seconds, though the rule waits no longer', 4_000, ['charge']],
    ['is not sent later', 6_000, []],
  ] as const)
    test(what, async (t) => {
      const { site, device } = await siteWithBattery(t);
      const disk = Promise.withResolvers<void>();
      site.durable = () => disk.promise;
      const asked = site.request('execute', execute(device.id, { timeoutMs: 500 }));
      await settle();
      await site.clock.advance(500);
      assert.deepEqual(await asked, no('timeout'));
      await site.clock.advance(hangsMs - 500);
      disk.resolve();
      await settle();
      assert.deepEqual(
        site.sent.map(({ name }) => name),
        sent,
      );
    });
});

describe('a rule is told', () => {
  test('a rule gets a value only after it is on the disk', async (t) => {
    let disk = Promise.resolve();
    const { site } = await siteWithBattery(t, { syncState: () => disk });
    const synced = Promise.withResolvers<void>();
    t.after(() => synced.resolve());
    disk = synced.promise;
    let isAnswered = false;
    const answer = site.request('storage_write', { store: 'rule', key: 'a', value: '1' });
    void answer.then(() => (isAnswered = true));
    for (let turn = 0; turn < 20; turn++) await settle();
    assert.equal(isAnswered, false);
    synced.resolve();
    assert.deepEqual(await answer, yes(null));
  });

  test('a rule gets devices by id and slug, and all of them by id', async (t) => {
    const { site, device } = await siteWithBattery(t);
    const other = site.addDevice({ slug: 'other' });
    const facts = { id: device.id, slug: 'battery', name: device.name, type: 'STANDALONE' };
    assert.deepEqual(await site.request('find_device', { idOrSlug: 'battery' }), yes(facts));
    assert.deepEqual(await site.request('find_device', { idOrSlug: device.id }), yes(facts));
    const all = await site.request('list_devices', {});
    assert.deepEqual(all.ok && (all.result as { id: string }[]).map(({ id }) => id), [device.id, other.id]);
  });

  test('a rule gets connectivity, profiles and properties of a device, by alias too', async (t) => {
    const { site, device } = await siteWithBattery(t);
    const { id: deviceId } = device;
    site.setProperties(device, { model: 'B5' });
    assert.deepEqual(await site.request('device_online', { deviceId }), yes(true));
    site.setListening(device, 0);
    assert.deepEqual(await site.request('device_online', { deviceId }), yes(false));
    assert.deepEqual(
      await site.request('device_profiles', { deviceId }),
      yes(['energy.battery', 'lib.device']),
    );
    assert.deepEqual(await site.request('property', { deviceId, name: 'model_name' }), yes('B5'));
    assert.deepEqual(await site.request('property', { deviceId, name: 'serial' }), yes(null));
    assert.deepEqual(await site.request('properties', { deviceId }), yes({ model: 'B5' }));
  });

  test('a rule gets the newest value by name and alias with its time, alerts included', async (t) => {
    const { site, device } = await siteWithBattery(t);
    const timestampMs = Math.floor(site.clock.wallMs() / 1_000) * 1_000;
    await site.measure(device, { soc: 50.5, status: 'ok', alerts: ['hot'] });
    for (const [name, value] of [
      ['soc', 50.5],
      ['battery_soc', 50.5],
      ['status', 'ok'],
      ['alerts', ['hot']],
    ] as const)
      assert.deepEqual(
        await site.request('latest', { deviceId: device.id, name, relevanceMs: 30_000 }),
        yes({ value, timestampMs }),
      );
  });

  test('a rule gets average, minimum and maximum of an interval, of a day at most', async (t) => {
    const { site, device } = await siteWithBattery(t);
    for (const soc of [90, 10, 20, 60]) {
      await site.measure(device, { soc });
      await site.clock.advance(soc === 90 ? 86_400_000 : 10_000);
    }
    for (const [kind, value] of [
      ['avg', 30],
      ['min', 10],
      ['max', 60],
    ] as const)
      for (const windowMs of [120_000, 10 * 86_400_000])
        assert.deepEqual(
          await site.request('aggregate', { deviceId: device.id, name: 'battery_soc', kind, windowMs }),
          yes(value),
        );
  });

  test('a rule gets the answer of the device, and the execution names the rule', async (t) => {
    const { site, device } = await siteWithBattery(t);
    const asked = site.request('execute', execute(device.id, { ephemeral: true }));
    await respond(site, 'completed', { result: { done: true } });
    assert.deepEqual(await asked, yes({ result: { done: true } }));
    const [execution] = executionsOf(site);
    assert.deepEqual(execution?.origin, { kind: 'rule', id: site.rule.id, name: 'asking' });
    assert.equal(execution?.ephemeral, true);
    assert.deepEqual(
      site.sent.map(({ name, arguments: given }) => [name, given]),
      [['charge', { limit_w: 100 }]],
    );
  });

  test('a rule gets an empty Lua table as the declared list, and large numbers exactly', async (t) => {
    const { site, device } = await siteWithBattery(t);
    const asked = site.request(
      'execute',
      execute(device.id, {
        name: 'plan',
        arguments: { days: {}, limit_w: 10n ** 18n, steps: { id: 2n ** 63n - 1n } },
      }),
    );
    await respond(site, 'completed', {});
    assert.deepEqual(await asked, yes({}));
    assert.equal(
      JSON.stringify(site.sent.at(-1)?.arguments),
      '{"days":[],"limit_w":1000000000000000000,"steps":{"id":9223372036854775807}}',
    );
  });

  test('a rule gets values that it stored itself, and none that another rule stored', async (t) => {
    const { site } = await siteWithBattery(t);
    const other = site.rules.create(newRule('other'));
    for (const store of ['rule', 'shared', 'public'] as const)
      assert.deepEqual(
        await site.request('storage_write', { store, key: 'k', value: `"${store}"` }),
        yes(null),
      );
    for (const [store, value] of [
      ['rule', null],
      ['shared', '"shared"'],
      ['public', '"public"'],
    ] as const)
      assert.deepEqual(
        await site.callMethod(other, { method: 'storage_read', parameters: { store, key: 'k' } }),
        yes(value),
      );
    await site.request('storage_remove', { store: 'rule', key: 'k' });
    assert.deepEqual(await site.request('storage_read', { store: 'rule', key: 'k' }), yes(null));
    assert.deepEqual(await site.request('storage_read', { store: 'shared', key: 'k' }), yes('"shared"'));
  });

  test('a new rule gets nothing stored by a deleted rule of its name', async (t) => {
    const { site } = await siteWithBattery(t);
    await site.request('storage_write', { store: 'rule', key: 'k', value: '1' });
    site.rules.remove([site.rule.id]);
    assert.deepEqual(await site.request('storage_read', { store: 'rule', key: 'k' }), yes(null));
  });
});

function executionsOf(site: Site) {
  const query = { retention: 'ALL', descending: false, limit: 50, offset: 0 } as const;
  return site.commands.list(query, 'SYSTEM').ids.flatMap((id) => site.commands.find(id) ?? []);
}

/** The device answers the newest request. */
async function respond(site: Site, state: string, payload: object): Promise<void> {
  await settle();
  const sent = site.sent.at(-1);
  const device = site.devices.get(sent?.deviceId ?? '');
  assert.ok(sent && device);
  const acknowledged = site.deliver(device, 'command_responses', { id: sent.id, state, payload });
  await site.clock.advance(1_000);
  await acknowledged;
}
