/** The way of a message from its topic to its capability (docs/interface/mqtt-devices.md). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { startConnectivity } from './support.ts';
import { runs } from '../../support/runs.ts';

describe('a message is not handed on', () => {
  const badTopics = [
    'v1/telemetry',
    'v1/from/H',
    'v1/from/H/ucm',
    'v1/from/H/ucm/v1/unknown',
    'v1/from/H/ucm/v1/telemetry/more',
    'v1/from/H/ucm/v1',
    'v1/from/H//v1/telemetry',
    'v1/from//ucm/v1/telemetry',
    'v1/to/H/ucm/v1/telemetry',
  ];
  for (const topic of badTopics)
    test(`a message is not handed on from the topic "${topic}"`, async (t) => {
      const setup = startConnectivity(t);
      const { communication } = await setup.addStandalone();
      await setup.deliverAt(topic.replace('/H', `/${communication.hardwareId}`), {});
      assert.deepEqual(setup.messages, []);
      assert.match(await setup.metrics.text(), /device_messages_dropped_total\{reason="unknown topic"\} 1/);
    });

  test('a message from a channel without a device is dropped, and the owner of the address is told once an hour', async (t) => {
    const setup = startConnectivity(t);
    const { communication } = await setup.addStandalone();
    const deliver = () => setup.deliverAt(`v1/from/${communication.hardwareId}/main/v1/telemetry`, {});
    const told = 'battery: Messages on channel "main" are dropped: no device has it.';
    for (let times = 0; times < 3; times++) await deliver();
    assert.deepEqual(setup.complaints, [told]);
    assert.deepEqual(setup.messages, []);
    await setup.clock.advance(3_600_001);
    await deliver();
    assert.deepEqual(setup.complaints, [told, told]);
  });

  test('a message beyond the rate is dropped, and the device is told once a minute', async (t) => {
    const setup = startConnectivity(t);
    const { identity } = setup.openSession(await setup.addStandalone());
    const told = 'battery: Messages come too fast: some at QoS 0 are dropped.';
    for (let times = 0; times < 3; times++) setup.connectivity.hooks.onTooFast?.(identity, 'dropped');
    assert.deepEqual(setup.complaints, [told]);
    await setup.clock.advance(60_000);
    setup.connectivity.hooks.onTooFast?.(identity, 'dropped');
    assert.deepEqual(setup.complaints, [told, told]);
  });

  test('the log asks for client ids of their own when sessions with one client id keep ending each other', async (t) => {
    const setup = startConnectivity(t);
    const device = await setup.addStandalone();
    const session = { ...setup.openSession(device), clientId: 'esp' };
    const takeOver = () => setup.connectivity.hooks.onSessionClosed(session, 'taken_over');
    const warning =
      'battery: Connections with the client id "esp" keep ending each other: give each client of this device a client id of its own.';
    // A device that starts again now and then takes over what it left behind.
    for (let times = 0; times < 8; times++) {
      takeOver();
      await setup.clock.advance(90_000);
    }
    assert.deepEqual(setup.complaints, []);
    await setup.clock.advance(300_000);
    for (let times = 0; times < 12; times++) takeOver();
    assert.deepEqual(setup.complaints, [warning]);
    await setup.clock.advance(3_600_000);
    for (let times = 0; times < 6; times++) takeOver();
    assert.deepEqual(setup.complaints, [warning, warning]);
  });

  test('a message for modules from another device is dropped, and the device is told', async (t) => {
    const setup = startConnectivity(t);
    const device = await setup.addStandalone();
    setup.connectivity.handle('module', (message) => void setup.messages.push(message));
    for (let times = 0; times < 3; times++)
      await setup.deliver(device, 'v1/module', { type: 'hello', version: 1, run: 'x', offers: [] });
    assert.deepEqual(setup.messages, []);
    assert.equal(setup.complaints.length, 1);
    assert.match(setup.complaints[0] ?? '', /came from a device that is none/);
  });

  const deep = `${'{"a":'.repeat(17)}1${'}'.repeat(17)}`;
  const badPayloads: [payload: string | Buffer, complaint: RegExp][] = [
    ['', /is empty/],
    ['{', /is not JSON/],
    ['[]', /is not a JSON object/],
    ['5', /is not a JSON object/],
    ['null', /is not a JSON object/],
    ['"text"', /is not a JSON object/],
    [Buffer.from([0x7b, 0xff, 0x7d]), /is not JSON/],
    [deep, /has more than 16 levels/],
    ['['.repeat(100_000), /is not JSON \(it ends too early/],
    [`{"${'k'.repeat(129)}":1}`, /has a key of more than 128 characters/],
  ];
  for (const [payload, complaint] of badPayloads)
    test(`a message is not handed on when its payload ${complaint.source.slice(0, 40)}: ${payload.toString().slice(0, 20)}`, async (t) => {
      const setup = startConnectivity(t);
      const device = await setup.addStandalone();
      await setup.deliver(device, 'v3/logs', payload);
      assert.deepEqual(setup.messages, []);
      assert.equal(setup.complaints.length, 1);
      assert.match(setup.complaints[0] ?? '', complaint);
    });

  test('a device whose messages are dropped is told so once a minute, whatever it sends', async (t) => {
    const setup = startConnectivity(t);
    const [one, two] = [await setup.addStandalone('One'), await setup.addStandalone('Two')];
    for (let times = 0; times < 3; times++) await setup.deliver(one, 'v1/telemetry', '{');
    await setup.deliver(two, 'v1/register', '[]');
    assert.equal(setup.complaints.length, 2);
    await setup.clock.advance(60_000);
    await setup.deliver(one, 'v3/logs', '{');
    assert.equal(setup.complaints.length, 3);
    assert.match(await setup.metrics.text(), /device_messages_dropped_total\{reason="malformed"\} 5/);
  });

  test('a message is not handed on when its device was deleted', async (t) => {
    const setup = startConnectivity(t);
    const device = await setup.addStandalone();
    setup.devices.remove(device);
    await setup.deliver(device, 'v1/telemetry', {});
    assert.deepEqual(setup.messages, []);
  });
});

describe('a message is handed on', () => {
  const kinds = [
    ['v1/telemetry', 'telemetry'],
    ['v1/register', 'properties'],
    ['v1/properties', 'properties'],
    ['v3/logs', 'logs'],
    ['v1/logs', 'logs'],
    ['v1/command/responses', 'command_responses'],
    ['v1/configuration/read', 'configuration_read'],
  ] as const;
  for (const [subject, kind] of kinds)
    test(`a message is handed on from ${subject} as ${kind}, with the device of its address`, async (t) => {
      const setup = startConnectivity(t);
      const device = await setup.addStandalone();
      await setup.deliver(device, subject, { message: 'x' });
      const [message] = setup.messages;
      assert.equal(message?.kind, kind);
      assert.equal(message?.device.id, device.id);
      assert.equal(message?.sizeBytes, 15);
      assert.equal(message?.receivedAtMs, setup.clock.wallMs());
      assert.deepEqual({ ...message?.body }, { message: 'x' });
    });

  test('a message is handed on when every key is a plain name, the last of those given twice', async (t) => {
    const setup = startConnectivity(t);
    const device = await setup.addStandalone();
    await setup.deliver(device, 'v1/telemetry', '{"__proto__":{"a":1},"constructor":2,"b":1,"b":3}');
    const body = setup.messages[0]?.body ?? {};
    assert.equal(Object.getPrototypeOf(body), null);
    assert.deepEqual(Object.entries(body), [
      ['__proto__', { a: 1 }],
      ['constructor', 2],
      ['b', 3],
    ]);
    assert.equal(({} as Record<string, unknown>)['a'], undefined);
  });

  test('a message is handed on when it is empty, where that means an empty object', async (t) => {
    const setup = startConnectivity(t);
    const device = await setup.addStandalone();
    for (const subject of ['v1/telemetry', 'v1/register']) await setup.deliver(device, subject, '');
    assert.deepEqual(
      setup.messages.map(({ kind, body }) => [kind, Object.keys(body)]),
      [
        ['telemetry', []],
        ['properties', []],
      ],
    );
  });

  test('a message is handed on when a module speaks of itself at QoS 0, as one that nobody waits for', async (t) => {
    const setup = startConnectivity(t);
    const { module } = setup.provisioning.own;
    const device = await setup.addStandalone();
    await setup.deliver(module, 'v1/telemetry', { status: 'ok' }, 0);
    await setup.deliver(module, 'v1/telemetry', { status: 'ok' }, 1);
    await setup.deliver(device, 'v1/telemetry', { power: 1 }, 0);
    assert.deepEqual(
      setup.messages.map(({ isOwn }) => isOwn),
      [true, false, false],
    );
  });

  test('a message is handed on when a Lua device uses the address of its module', async (t) => {
    const setup = startConnectivity(t);
    const lua = await setup.addLua();
    await setup.deliver(lua, 'v1/telemetry', {});
    assert.equal(setup.messages[0]?.device.id, lua.id);
    assert.equal(lua.communication.hardwareId, setup.provisioning.own.module.communication.hardwareId);
  });
});

test('no message of a device throws an error at the broker', async (t) => {
  const setup = startConnectivity(t);
  const device = await setup.addStandalone();
  const subject = fc.oneof(
    fc.constantFrom('v1/telemetry', 'v1/register', 'v3/logs', 'v1/command/responses'),
    fc.string(),
  );
  const payload = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.json({ maxDepth: 20 }).map((text) => Buffer.from(text)),
    fc.json().map((text) => Buffer.from(text.slice(0, -1))),
  );
  await fc.assert(
    fc.asyncProperty(subject, payload, async (name, bytes) => {
      await setup.deliver(device, name, bytes);
      for (const { body } of setup.messages.splice(0)) assert.equal(Object.getPrototypeOf(body), null);
    }),
    { numRuns: runs(500) },
  );
});

describe('the access list', () => {
  test('the access list keeps a client below its own address', async (t) => {
    const { connectivity, addStandalone } = startConnectivity(t);
    const { communication } = await addStandalone();
    const key = communication.hardwareId ?? '';
    const publish = (topic: string): boolean => connectivity.hooks.mayPublish({ key }, topic);
    const subscribe = (filter: string): boolean => connectivity.hooks.maySubscribe({ key }, filter);
    for (const topic of [
      `v1/from/${key}`,
      `v1/from/${key}x/ucm/v1/telemetry`,
      `v1/to/${key}/ucm/x`,
      '$SYS/x',
      '',
    ])
      assert.equal(publish(topic), false, topic);
    for (const filter of [
      '#',
      '+/#',
      'v1/to/#',
      'v1/to/+/ucm/#',
      `v1/from/${key}/#`,
      `v1/to/${key}`,
      '$SYS/#',
    ])
      assert.equal(subscribe(filter), false, filter);
    for (const topic of [`v1/from/${key}/ucm/v1/telemetry`, `v1/from/${key}/other/v3/logs`])
      assert.equal(publish(topic), true, topic);
    for (const filter of [`v1/to/${key}/#`, `v1/to/${key}/ucm/v1/command/requests`, `v1/to/${key}/+/v1/#`])
      assert.equal(subscribe(filter), true, filter);
  });

  test('the access list lets in by password only, and tells who comes without one', async (t) => {
    const { connectivity, provisioning } = startConnectivity(t);
    const { configuration } = await provisioning.standalone({ name: 'B' }, 'localhost');
    const credentials = configuration?.mqttCredentials;
    assert.ok(credentials && 'username' in credentials);
    const login = (username: string | undefined, password: string | undefined) =>
      connectivity.hooks.authenticate({
        username,
        password: password === undefined ? undefined : Buffer.from(password),
        clientId: '',
        remoteAddress: '10.0.0.9',
      });
    assert.equal(await login(undefined, undefined), 'not_authorized');
    assert.equal(await login(credentials.username, undefined), 'not_authorized');
    assert.equal(await login(credentials.username, 'wrong'), 'bad_credentials');
    const identity = await login(credentials.username, credentials.password);
    assert.ok(typeof identity === 'object' && identity.key === credentials.username);
    assert.equal(identity.devices?.(), 1);
  });
});
