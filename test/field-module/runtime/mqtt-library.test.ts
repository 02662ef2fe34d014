/** `mqtt` of device scripts with a real Mosquitto. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { after, describe, test, type TestContext } from 'node:test';
import { createServer } from 'node:tls';
import { MqttCalls } from '../../../src/field-module/mqtt-calls.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { startBench } from '../../platform/tls/support.ts';
import { BROKER_USER, type MosquittoBroker, startMosquitto } from '../../support/mosquitto-broker.ts';
import { until } from '../../support/until.ts';
import { clock, closeBenches, saidBy, type ScriptBench } from './script-bench.ts';

after(() => closeBenches());

const MQTT = LIMITS.lua.mqtt;
/** Connection of a module whose gateway is not there. */
const gateway = {
  mqttHost: '127.0.0.1',
  mqttPort: 1,
  hardwareId: 'h',
  channelId: 'ucm',
  credentials: { protocol: 'MQTT', username: 'u', password: 'p' },
} as const;

interface Module {
  calls: MqttCalls;
  /** Runs the script as `run`; `URI` is the broker, `LOGIN` its options. Returns what it said. */
  run: (source: string, run?: number) => Promise<[string[], ScriptBench]>;
}

function startModule(
  t: TestContext,
  broker: Pick<MosquittoBroker, 'url'>,
  limits: Partial<typeof MQTT> = {},
): Module {
  const mqtt = { ...MQTT, reconnectFirstMs: 20, refusedAgainMs: 50, ...limits } as typeof MQTT;
  const calls = new MqttCalls({ clock, gateway, limits: { ...LIMITS, lua: { ...LIMITS.lua, mqtt } } });
  t.after(() => calls.close());
  const head = `local URI, LOGIN = '${broker.url}', { user = '${BROKER_USER.username}', password = '${BROKER_USER.password}' }\n`;
  return {
    calls,
    run: (source, run = 1) =>
      saidBy(head + source, {
        answer: (call) =>
          call.kind === 'mqtt' ? calls.carryOut(run, call.operation) : assert.fail(call.kind),
      }),
  };
}

/** Waits until the script has said so many lines. */
async function lines(bench: ScriptBench, count: number): Promise<string[]> {
  await until(() => bench.logs().length >= count);
  return bench.logs().map((line) => line.replace('info: ', ''));
}

async function withMosquitto(
  t: TestContext,
  body: (broker: MosquittoBroker, module: Module) => Promise<void>,
  limits: Partial<typeof MQTT> = {},
): Promise<void> {
  const broker = await startMosquitto(t);
  if (broker) await body(broker, startModule(t, broker, limits));
}

/** The other side of the socket is the broker. */
function pass(socket: net.Socket, broker: MosquittoBroker, sockets = new Set<net.Socket>()): void {
  const onward = net.connect(Number(new URL(broker.url).port), '127.0.0.1');
  for (const each of [socket, onward]) {
    sockets.add(each);
    each.on('error', () => socket.destroy());
  }
  socket.pipe(onward);
  onward.pipe(socket);
}

async function listening(t: TestContext, server: net.Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe('mqtt of a script refuses', () => {
  test('mqtt of a script refuses an invalid broker, option, topic or payload', async (t) => {
    const module = startModule(t, { url: 'mqtt://127.0.0.1:1' });
    const [said] = await module.run(`
      for _, uri in ipairs({ 'http://a', '192.168.1.1', 'mqtt://', 'mqtt://192.168.001.1' }) do say(mqtt.new(uri)) end
      say(mqtt.new('gateway', { user = 'x' }))
      raised(mqtt.new) raised(mqtt.new, URI, 5) raised(mqtt.new, URI, { user = 5 }) raised(mqtt.new, URI, { will = { topic = 'a/#' } })
      local client = mqtt.new(URI)
      say(client:subscribe('a/#/b', print)) say(client:subscribe('', print)) say(client:publish('a/+', 'x')) say(client:latest('a/#'))
      say(client:publish(('t'):rep(${MQTT.topicBytes} + 1), 'x'))
      say(client:publish('a', ('x'):rep(${MQTT.publishBytes} + 1)))
      raised(client.subscribe, client, 'a') raised(client.publish, client, 'a') raised(client.publish, client, 'a', 'b', { qos = 2 })
      raised(client.publish, 'a', 'b')`);
    assert.deepEqual(said, [
      ...Array.from(
        { length: 3 },
        () => 'nil a broker is called mqtt://host:port, mqtts://host:port or gateway',
      ),
      'nil the address 192.168.001.1 has leading zeros: write its numbers without them',
      'nil the connection to the gateway has no options',
      "bad argument #1 to 'new' (string expected, got nil)",
      "bad argument #2 to 'new' (table expected, got number)",
      "bad argument #2 to 'new' (user must be a text)",
      "bad argument #2 to 'new' (the topic of the will is no topic)",
      'nil "a/#/b" is no filter',
      'nil "" is no filter',
      'nil "a/+" is no topic',
      'nil "a/#" is no topic',
      'nil a topic has at most 1024 bytes',
      'nil a message has at most 131072 bytes',
      "bad argument #2 to 'subscribe' (function expected, got nil)",
      "bad argument #2 to 'publish' (string expected, got nil)",
      "bad argument #3 to 'publish' (qos must be 0 or 1)",
      'the client is called with a dot, use a colon',
    ]);
  });

  test("mqtt of a script refuses topics of the gateway's own devices over the connection to the gateway", async (t) => {
    const [said] = await startModule(t, { url: '' }).run(`
      local client = mqtt.new('gateway')
      for _, filter in ipairs({ 'v1/#', 'v1', '#', '+/x', '$share/a/v1/#', '/x' }) do
        say(select(2, client:subscribe(filter, print)))
      end
      say(select(2, client:publish('v1/from/h/c2/v1/telemetry', '{}'))) say(select(2, client:latest('v1/x')))
      say(client:publish('plug/cmnd', 'on'))`);
    for (const line of said.slice(0, 8))
      assert.match(line, /^at the gateway the (?:filter|topic) must begin with a name other than v1/);
    assert.match(said[8] ?? '', /^nil Nothing listens at 127.0.0.1:1/);
  });

  test('mqtt of a script refuses clients, filters, brokers and messages beyond the limits', async (t) => {
    const module = startModule(
      t,
      { url: 'mqtt://127.0.0.1:1' },
      { brokers: 2, messageBurst: 3, messagesPerSecond: 0.001 },
    );
    const [said] = await module.run(`
      local clients = {}
      for i = 1, ${MQTT.clients} do clients[i] = mqtt.new(URI) end
      say(mqtt.new(URI))
      clients[1]:close()
      say(mqtt.new(URI, { user = 'b' }) ~= nil)
      clients[2]:close()
      say(mqtt.new(URI, { user = 'c' }))
      say(clients[2]:publish('a', 'x'))
      for i = 1, ${MQTT.filters} do clients[3]:subscribe('f/' .. i, print) end
      say(clients[3]:subscribe('one more', print)) say(clients[3]:latest('one more'))
      for _ = 1, 4 do say(select(2, clients[4]:publish('a', 'x'))) end`);
    assert.deepEqual(said.slice(0, 6), [
      `nil a script has ${MQTT.clients} MQTT clients at most`,
      'true',
      'nil a module is connected to 2 brokers at most',
      'nil the client is closed',
      `nil an MQTT client has ${MQTT.filters} filters at most`,
      `nil an MQTT client has ${MQTT.filters} filters at most`,
    ]);
    assert.match(said[6] ?? '', /^Nothing listens at/);
    assert.equal(said[9], 'too many messages');
  });

  test('mqtt of a script reports a wrong password with the words of the broker', async (t) => {
    await withMosquitto(t, async (_broker, module) => {
      const [said] = await module.run(`
        local client = mqtt.new(URI, { user = 'box', password = 'wrong' })
        say(client:publish('a', 'x')) say(client:is_connected()) say(client:latest('a'))`);
      assert.match(
        said[0] ?? '',
        /^nil 127.0.0.1:\d+ does not accept the user name or the password|let this client in/,
      );
      assert.equal(said[1], 'false');
    });
  });
});

describe('mqtt of a script', () => {
  test('mqtt of a script gets messages of its filters, exact bytes and what is retained', async (t) => {
    await withMosquitto(t, async (broker, module) => {
      await broker.publish('plug/state', 'kept', true);
      const [, bench] = await module.run(`
        local client = mqtt.new(URI, LOGIN)
        say(client:is_connected() == false or 'connected')
        client:subscribe('plug/#', function(topic, payload, retained) say(topic, #payload, payload:byte(1), retained) end)
        client:subscribe('+/state', function(topic) error('failed for ' .. topic) end)`);
      await broker.publish('plug/power', Buffer.from([255, 0, 128]));
      await broker.publish('other/power', 'x');
      const said = await lines(bench, 4);
      assert.deepEqual(said.filter((line) => line.startsWith('plug')).slice(0, 1), ['plug/state 4 107 true']);
      await until(() => bench.logs().some((line) => line.includes('plug/power 3 255 false')));
      assert.ok(bench.logs().some((line) => /failed for plug\/state/.test(line)));
      assert.ok(!bench.logs().some((line) => line.includes('other')));
    });
  });

  test('mqtt of a script shares one connection with scripts of the same login, and the last one closes it', async (t) => {
    await withMosquitto(t, async (broker) => {
      let connections = 0;
      const between = net.createServer((socket) => {
        connections += 1;
        socket.on('close', () => (connections -= 1));
        pass(socket, broker);
      });
      const module = startModule(t, { url: `mqtt://127.0.0.1:${await listening(t, between)}` });
      const script = `
        local client = mqtt.new(URI, LOGIN)
        client:subscribe('all', function(_, payload) say('got', payload) end)`;
      const [, first] = await module.run(script, 1);
      const [, second] = await module.run(script, 2);
      await broker.publish('all', 'a');
      for (const bench of [first, second]) assert.ok((await lines(bench, 1)).includes('got a'));
      module.calls.release(1);
      await broker.publish('all', 'b');
      await until(() => second.logs().some((line) => line.includes('got b')));
      assert.ok(!first.logs().some((line) => line.includes('got b')));
      assert.equal(connections, 1);
      module.calls.release(2);
      await until(() => connections === 0);
    });
  });

  test('mqtt of a script publishes at QoS 0 and 1, retained on request', async (t) => {
    await withMosquitto(t, async (broker, module) => {
      const seen = await broker.watch('cmd/#');
      const [said] = await module.run(`
        local client = mqtt.new(URI, LOGIN)
        say(client:publish('cmd/a', 'one')) say(client:publish('cmd/b', 'two', { qos = 0 }))
        say(client:publish('cmd/c', 'kept', { retain = true })) say(client:publish('cmd/d', 5, { qos = 1 }))`);
      assert.deepEqual(
        said,
        Array.from({ length: 4 }, () => 'true nil'),
      );
      await until(() => seen.length === 4);
      assert.deepEqual(seen.map(({ topic, payload }) => `${topic} ${payload}`).toSorted(), [
        'cmd/a one',
        'cmd/b two',
        'cmd/c kept',
        'cmd/d 5',
      ]);
      const again = await broker.watch('cmd/#');
      await until(() => again.length > 0);
      assert.deepEqual(
        again.map(({ payload }) => payload),
        ['kept'],
      );
    });
  });

  test('mqtt of a script reads the newest message of a topic and its age', async (t) => {
    await withMosquitto(t, async (broker, module) => {
      const [, bench] = await module.run(`
        local client = mqtt.new(URI, LOGIN)
        say(client:latest('inverter/power'))
        enapter.register_command_handler('ask', function()
          local payload, age = client:latest('inverter/power')
          return { payload = payload, age_ms = age }
        end)`);
      assert.equal(bench.logs()[0], 'info: nil no message yet');
      for (const value of ['100', '200']) await broker.publish('inverter/power', value);
      let answer: { payload?: string; age_ms?: number } = {};
      await until(async () => {
        const [response] = await bench.command('ask');
        answer = response?.payload as typeof answer;
        return answer.payload === '200';
      });
      assert.ok((answer.age_ms ?? -1) >= 0 && Number.isInteger(answer.age_ms));
    });
  });

  test('mqtt of a script is connected and subscribed again after its broker was away', async (t) => {
    await withMosquitto(t, async (broker, module) => {
      const [, bench] = await module.run(`
        local client = mqtt.new(URI, LOGIN)
        client:subscribe('a', function(_, payload) say('got', payload) end)
        enapter.register_command_handler('send', function()
          local ok, err = client:publish('b', 'x')
          return { ok = ok, err = err, connected = client:is_connected() }
        end)`);
      await broker.kill();
      await until(async () => (await bench.command('send'))[0]?.payload?.['connected' as never] === false);
      const [failed] = await bench.command('send');
      assert.match(JSON.stringify(failed), /ended the connection|Nothing listens/);
      await broker.start();
      await until(async () => JSON.stringify(await bench.command('send')).includes('"connected":true'));
      await broker.publish('a', 'back');
      await until(() => bench.logs().some((line) => line.includes('got back')));
    });
  });

  test('mqtt of a script drops the oldest messages that it does not take in time, and logs how many', async (t) => {
    await withMosquitto(
      t,
      async (broker, module) => {
        const [, bench] = await module.run(`
          local client = mqtt.new(URI, LOGIN)
          local is_slow = true
          client:subscribe('n', function(_, payload)
            if is_slow then is_slow = false system.delay(300) end
            say('got', payload)
          end)`);
        for (let index = 0; index < 8; index += 1) await broker.publish('n', `m${index}`);
        await until(() => bench.logs().some((line) => line.includes('got m7')));
        const got = bench.logs().filter((line) => line.includes('got'));
        assert.ok(got.length < 8 && got[0]?.includes('m0'), got.join());
        assert.ok(bench.logs().some((line) => /^warning: \d+ MQTT messages were dropped/.test(line)));
      },
      { queuedMessages: 3 },
    );
  });

  test('mqtt of a script leaves out a message that is too large', async (t) => {
    await withMosquitto(
      t,
      async (broker, module) => {
        const [, bench] = await module.run(`
          mqtt.new(URI, LOGIN):subscribe('n', function(_, payload) say('got', #payload) end)`);
        await broker.publish('n', 'x'.repeat(101));
        await broker.publish('n', 'x'.repeat(100));
        await until(() => bench.logs().some((line) => line.includes('got 100')));
        assert.ok(!bench.logs().some((line) => line.includes('got 101')));
      },
      { messageBytes: 100 },
    );
  });

  test('mqtt of a script leaves a will that the broker publishes when the module dies', async (t) => {
    await withMosquitto(t, async (broker) => {
      const seen = await broker.watch('box/#');
      // Between both, so that the connection can be cut.
      const sockets = new Set<net.Socket>();
      const between = net.createServer((socket) => pass(socket, broker, sockets));
      const url = `mqtt://127.0.0.1:${await listening(t, between)}`;
      const [said] = await startModule(t, { url }).run(`
        LOGIN.will = { topic = 'box/state', payload = 'gone' }
        say(mqtt.new(URI, LOGIN):publish('box/state', 'here'))`);
      assert.deepEqual(said, ['true nil']);
      for (const socket of sockets) socket.destroy();
      await until(() => seen.some(({ payload }) => payload === 'gone'));
    });
  });

  test('mqtt of a script uses TLS with its own authority or without a check, and is refused otherwise', async (t) => {
    await withMosquitto(t, async (broker) => {
      const tls = await startBench(t).open();
      const server = createServer(tls.serverContext(), (socket) => pass(socket, broker));
      const url = `mqtts://127.0.0.1:${await listening(t, server)}`;
      const [said] = await startModule(t, { url }).run(`
        say(mqtt.new(URI, LOGIN):publish('a', 'x'))
        local login = { user = LOGIN.user, password = LOGIN.password, insecure_tls = true }
        say(mqtt.new(URI, login):publish('a', 'x'))
        LOGIN.ca = [[${tls.caPem}]]
        say(mqtt.new(URI, LOGIN):publish('a', 'x'))`);
      assert.match(said[0] ?? '', /^nil The certificate of 127.0.0.1:\d+ .*insecure_tls/);
      assert.deepEqual(said.slice(1), ['true nil', 'true nil']);
    });
  });
});
