/** Brokers of any age, those that take little at once, and what they say of a message. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { generate, type Packet, parser, writeToStream } from 'mqtt-packet';
import { LIMITS } from '../../../src/lib/limits.ts';
import { createSystemClock, nextTurn } from '../../../src/platform/clock/index.ts';
import {
  MqttClient,
  type MqttClientOptions,
  MqttFailure,
  MqttRefusal,
} from '../../../src/platform/mqtt-client/index.ts';

interface Line {
  /** In the version of the client, or in the one that is given. */
  send: (packet: Packet, version?: number) => void;
  sendBytes: (bytes: Buffer) => void;
  end: () => void;
}

/** A client of a broker that answers each packet by `answer`. */
async function clientOf(
  t: TestContext,
  answer: (packet: Packet, line: Line) => void,
  onMessage?: () => Promise<void>,
  more: Partial<MqttClientOptions> = {},
): Promise<MqttClient> {
  const server = createServer((socket) => {
    const packets = parser();
    let version = 4;
    const line: Line = {
      send: (packet, protocolVersion = version) => void socket.write(generate(packet, { protocolVersion })),
      sendBytes: (bytes) => void socket.write(bytes),
      end: () => socket.destroy(),
    };
    packets.on('packet', (packet) => {
      if (packet.cmd === 'connect') version = packet.protocolVersion ?? version;
      answer(packet, line);
    });
    socket.on('data', (bytes) => void packets.parse(Buffer.from(bytes)));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const clock = createSystemClock();
  const url = new URL(`mqtt://127.0.0.1:${port}`);
  const client = new MqttClient({ clock, url, clientId: 'box', timeoutMs: 60_000, onMessage, ...more });
  t.after(() => {
    client.close();
    clock.close();
    server.close();
  });
  return client;
}

const publish = (client: MqttClient, payload: string): Promise<void> =>
  client.publish({ topic: 'plant', payload, isRetained: false });

const accepted = (properties = {}): Packet => ({
  cmd: 'connack',
  returnCode: 0,
  reasonCode: 0,
  sessionPresent: false,
  properties,
});

test('no client allocates a buffer for each number that a packet may hold', async (t) => {
  writeToStream.cacheNumbers = true;
  const client = await clientOf(t, (packet, { send }) => {
    if (packet.cmd === 'connect') send(accepted());
  });
  await client.connect();
  assert.equal(writeToStream.cacheNumbers, false);
});

const older: [string, (line: Line) => void, number[]][] = [
  ['says so', ({ send }) => send({ cmd: 'connack', returnCode: 1, sessionPresent: false }, 4), [5, 4, 4]],
  ['ends the connection without a word', ({ end }) => end(), [5, 4, 5, 4]],
];
for (const [what, refuse, expected] of older)
  test(`a broker that has MQTT 3.1.1 only, and ${what}, is addressed with that`, async (t) => {
    const versions: (number | undefined)[] = [];
    const client = await clientOf(t, (packet, line) => {
      if (packet.cmd === 'publish') line.send({ cmd: 'puback', messageId: packet.messageId ?? 0 });
      if (packet.cmd !== 'connect') return;
      versions.push(packet.protocolVersion);
      if (packet.protocolVersion === 5) refuse(line);
      else line.send(accepted());
    });
    for (let connection = 0; connection < 2; connection++) {
      await client.connect();
      await publish(client, '1');
      client.close();
    }
    assert.deepEqual(versions, expected);
  });

test('a broker whose answer does not exist in MQTT 5 is addressed with MQTT 3.1.1', async (t) => {
  let version: number | undefined;
  const client = await clientOf(t, (packet, { send, sendBytes }) => {
    if (packet.cmd === 'connect') {
      version = packet.protocolVersion;
      send(accepted());
    }
    if (packet.cmd !== 'publish') return;
    const { messageId = 0 } = packet;
    // Too large, which is no answer to a message there.
    if (version === 5) sendBytes(Buffer.of(0x40, 3, messageId >> 8, messageId & 255, 149));
    else send({ cmd: 'puback', messageId });
  });
  await client.connect();
  await assert.rejects(publish(client, '1'), MqttFailure);
  await client.connect();
  await publish(client, '1');
  assert.equal(version, 4);
});

test("the number of messages in flight stays within the broker's limit, in order", async (t) => {
  const arrived: string[] = [];
  let open = 0;
  let openMax = 0;
  const client = await clientOf(t, (packet, { send }) => {
    if (packet.cmd === 'connect') send(accepted({ receiveMaximum: 2 }));
    if (packet.cmd !== 'publish') return;
    arrived.push(packet.payload.toString());
    openMax = Math.max(openMax, ++open);
    void nextTurn().then(() => {
      open--;
      send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 0 });
    });
  });
  await client.connect();
  const payloads = ['a', 'b', 'c', 'd', 'e'];
  await Promise.all(payloads.map((payload) => publish(client, payload)));
  assert.deepEqual([arrived, openMax], [payloads, 2]);
});

// Around where the length of a packet takes one more byte, and far from there.
for (const limitBytes of [40, 128, 129, 130, 131, 5_000])
  test(`a broker that takes ${limitBytes} bytes at once gets no more, and nothing larger`, async (t) => {
    const sizes: number[] = [];
    const client = await clientOf(t, (packet, { send }) => {
      if (packet.cmd === 'connect') send(accepted({ maximumPacketSize: limitBytes }));
      if (packet.cmd !== 'publish') return;
      sizes.push(generate(packet, { protocolVersion: 5 }).length);
      send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 0 });
    });
    await client.connect();
    let refused = 0;
    for (let length = limitBytes - 16; length <= limitBytes; length++)
      await publish(client, 'x'.repeat(length)).catch((error: unknown) => {
        assert.ok(error instanceof MqttRefusal && error.isOfMessage);
        assert.match(error.message, / takes \d+ bytes at once, a message on plant has \d+\.$/);
        refused++;
      });
    assert.ok(refused > 0 && sizes.length + refused === 17);
    assert.ok(Math.max(...sizes) === limitBytes || limitBytes === 130, `${Math.max(...sizes)}`);
  });

const refusals: [number, RegExp, boolean][] = [
  [135, /^127\.0\.0\.1:\d+ does not let this client write to plant\.$/, false],
  [153, /^127\.0\.0\.1:\d+ does not take a message on plant: Publish error: Payload format invalid\.$/, true],
];
for (const [reasonCode, sentence, isOfMessage] of refusals)
  test(`a message that is refused with ${reasonCode} fails with a sentence, and the next one goes`, async (t) => {
    let isFirst = true;
    const client = await clientOf(t, (packet, { send }) => {
      if (packet.cmd === 'connect') send(accepted());
      if (packet.cmd !== 'publish') return;
      send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: isFirst ? reasonCode : 0 });
      isFirst = false;
    });
    await client.connect();
    await assert.rejects(publish(client, '1'), (error) => {
      assert.ok(error instanceof MqttRefusal);
      assert.match(error.message, sentence);
      assert.equal(error.isOfMessage, isOfMessage);
      return true;
    });
    await publish(client, '2');
  });

test('a connection without TLS loads no TLS code, and no HTTP', async (t) => {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const program = join(import.meta.dirname, '../../support/children/opens-line.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [program, String(port)]);
  assert.match(stdout, /^NativeModule net$/m);
  assert.doesNotMatch(stdout, /^NativeModule (?:tls|https?)$/m);
});

test('an attempt that is cancelled while it is prepared opens no connection', async (t) => {
  let opened = 0;
  const client = await clientOf(t, (packet, { send }) => {
    opened++;
    if (packet.cmd === 'connect')
      send({ cmd: 'connack', returnCode: 0, reasonCode: 0, sessionPresent: false });
  });
  const attempt = client.connect();
  client.close();
  await assert.rejects(attempt, MqttFailure);
  assert.equal(opened, 0);
  await client.connect();
  assert.equal(opened, 1);
});

const { packetMaxBytes, unaskedMax, messagesAtOnce } = LIMITS.mqttClient;

/** PUBLISH at QoS 0 on topic `a`, with a body of so many bytes beside it. */
function message(bodyBytes: number): Buffer {
  const remaining = 4 + bodyBytes;
  const length: number[] = [];
  for (let left = remaining; length.length === 0 || left > 0; left >>>= 7)
    length.push((left & 127) | (left > 127 ? 128 : 0));
  return Buffer.concat([Buffer.from([0x30, ...length, 0, 1, 97, 0]), Buffer.alloc(bodyBytes)]);
}

test('a connection tells the broker the largest packet that it takes', async (t) => {
  let told: number | undefined;
  const client = await clientOf(t, (packet, { send }) => {
    if (packet.cmd !== 'connect') return;
    told = packet.properties?.maximumPacketSize;
    send(accepted());
  });
  await client.connect();
  assert.equal(told, packetMaxBytes);
});

test('a packet that announces too large a size ends the connection before it is buffered', async (t) => {
  const client = await clientOf(t, (packet, { send, sendBytes }) => {
    if (packet.cmd === 'connect') send(accepted());
    // A length of 250 MB, of which a byte comes.
    if (packet.cmd === 'publish') sendBytes(Buffer.from([0x30, 0x80, 0xe5, 0x9a, 0x77, 0]));
  });
  await client.connect();
  await assert.rejects(publish(client, '1'), /sent a packet of more than 262144 bytes/);
  await assert.rejects(publish(client, '2'), /sent a packet of more than 262144 bytes/);
});

test('a packet of the largest size is taken after a subscription', async (t) => {
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const client = await clientOf(
    t,
    (packet, { send, sendBytes }) => {
      if (packet.cmd === 'connect') send(accepted());
      if (packet.cmd !== 'subscribe') return;
      send({ cmd: 'suback', messageId: packet.messageId ?? 0, granted: [1] });
      // Its type, three bytes of length, and four of topic and properties come on top.
      sendBytes(message(packetMaxBytes - 8));
    },
    async () => resolve(),
  );
  await client.connect();
  await client.subscribe('a');
  await arrived;
});

const unasked: [name: string, bytes: Buffer][] = [
  ['messages of topics without a subscription', message(1)],
  ['answers to a ping', Buffer.from([0xd0, 0])],
  ['acknowledgements', Buffer.from([0x40, 2, 0x7f, 0x7f])],
];
for (const [name, bytes] of unasked)
  test(`a connection ends after too many unexpected ${name}`, async (t) => {
    const client = await clientOf(t, (packet, { send, sendBytes }) => {
      if (packet.cmd === 'connect') send(accepted());
      if (packet.cmd === 'publish') sendBytes(Buffer.concat(Array(10_000).fill(bytes)));
    });
    await client.connect();
    await assert.rejects(
      publish(client, '1'),
      new RegExp(`sent ${unaskedMax + 1} packets that were not asked for`),
    );
  });

const unaskedOfSubscriber: [name: string, bytes: Buffer][] = [
  ['messages of QoS 2', Buffer.from([0x34, 6, 0, 1, 97, 0, 1, 0])],
  ['releases', Buffer.from([0x62, 2, 0, 1])],
  ['acknowledgements of subscriptions', Buffer.from([0x90, 4, 0x7f, 0x7f, 0, 0])],
];
for (const [name, bytes] of unaskedOfSubscriber)
  test(`a connection with a subscription ends after too many unexpected ${name}`, async (t) => {
    const client = await clientOf(
      t,
      (packet, { send, sendBytes }) => {
        if (packet.cmd === 'connect') send(accepted());
        if (packet.cmd === 'subscribe')
          send({ cmd: 'suback', messageId: packet.messageId ?? 0, granted: [1] });
        if (packet.cmd === 'publish') sendBytes(Buffer.concat(Array<Buffer>(10_000).fill(bytes)));
      },
      async () => undefined,
    );
    await client.connect();
    await client.subscribe('a');
    await assert.rejects(
      publish(client, '1'),
      new RegExp(`sent ${unaskedMax + 1} packets that were not asked for`),
    );
  });

test('retained messages of a session arrive before the client has subscribed again', async (t) => {
  const kept = 2 * unaskedMax;
  let seen = 0;
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const client = await clientOf(
    t,
    (packet, { sendBytes }) => {
      if (packet.cmd !== 'connect') return;
      const greeting = generate({ ...accepted(), sessionPresent: true } as never, { protocolVersion: 5 });
      sendBytes(Buffer.concat([greeting, ...Array<Buffer>(kept).fill(message(0))]));
    },
    async () => {
      if (++seen === kept) resolve();
    },
    { clientId: 'kept', isSessionKept: true },
  );
  await client.connect();
  await arrived;
});

test('a flood of messages lets other work run', async (t) => {
  const flood = 10_000;
  const seen = { handled: 0, turns: 0 };
  const client = await clientOf(
    t,
    (packet, { send, sendBytes }) => {
      if (packet.cmd === 'connect') send(accepted());
      if (packet.cmd !== 'subscribe') return;
      send({ cmd: 'suback', messageId: packet.messageId ?? 0, granted: [0] });
      sendBytes(Buffer.concat(Array(flood).fill(message(0))));
    },
    async () => void seen.handled++,
  );
  await client.connect();
  await client.subscribe('a');
  for (; seen.handled < flood; seen.turns++) await nextTurn();
  assert.ok(seen.turns >= flood / messagesAtOnce, `${seen.turns} turns`);
});

test('disconnecting ends although the broker keeps its side open', async (t) => {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.once('data', () => socket.write(generate(accepted(), { protocolVersion: 5 })));
    socket.on('error', () => undefined);
    t.after(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const clock = createSystemClock();
  t.after(() => clock.close());
  const { port } = server.address() as { port: number };
  const url = new URL(`mqtt://127.0.0.1:${port}`);
  const client = new MqttClient({ clock, url, clientId: 'box', timeoutMs: 100 });
  await client.connect();
  await client.leave();
});
