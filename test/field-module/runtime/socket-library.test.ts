/** `tcp`, `udp` and `websocket` of device scripts with real servers on the loopback. */
import assert from 'node:assert/strict';
import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { after, describe, test, type TestContext } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import { hostRefusal } from '../../../src/field-module/runtime/socket-library.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { startBench } from '../../platform/tls/support.ts';
import { until } from '../../support/until.ts';
import { UdpSockets } from '../../../src/field-module/field/udp-port.ts';
import { closeBenches, saidBy, type ScriptBench } from './script-bench.ts';

after(() => closeBenches());

const SOCKETS = LIMITS.lua.sockets;
const NOT_GIVEN = 'is not in the configuration of the device';
/** Settings of a device, as its owner gave them. */
const given = (...values: unknown[]) => ({
  groups: { connection: Object.fromEntries(values.map((value, index) => [`p${index}`, value])) },
});

async function listen(t: TestContext, server: net.Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A TCP server; what each connection does. */
async function tcpServer(
  t: TestContext,
  onSocket: (socket: net.Socket, number: number) => void,
): Promise<number> {
  let number = 0;
  return listen(
    t,
    net.createServer((socket) => {
      socket.on('error', () => socket.destroy());
      t.after(() => socket.destroy());
      onSocket(socket, ++number);
    }),
  );
}

async function said(
  source: string,
  options: Parameters<typeof saidBy>[1] = given('127.0.0.1'),
): Promise<string[]> {
  return (await saidBy(source, options))[0];
}

describe('the owner of a device', () => {
  test('the owner of a device gives exactly the hosts written in the configuration', () => {
    const isGiven = (host: string, ...values: unknown[]): boolean =>
      hostRefusal(host, given(...values).groups) === undefined;
    for (const [host, value] of [
      ['192.168.1.1', '192.168.1.10'],
      ['92.168.1.1', '192.168.1.1'],
      ['meter', 'meter.local'],
      ['local', 'meter.local'],
      ['10', 'port 10'],
      ['192.168.1.1', 19_216_811],
      ['192.168.001.1', '192.168.001.1'],
      ['fe80::1', 'fe80::1:2'],
      ['', ''],
    ] as const)
      assert.equal(isGiven(host, value), false, `${host} of ${JSON.stringify(value)}`);
    for (const [host, value] of [
      ['192.168.1.1', '192.168.1.1'],
      ['192.168.1.1', 'tcp://192.168.1.1:23/'],
      ['192.168.1.1', '192.168.1.10, 192.168.1.1'],
      ['Meter.local', 'http://user@METER.local/path'],
      ['fe80::1', '[fe80::1]:23'],
      ['239.12.255.254', ['224.0.0.1', '239.12.255.254']],
    ] as const)
      assert.equal(isGiven(host, value), true, `${host} of ${JSON.stringify(value)}`);
  });
});

describe('tcp of a script', () => {
  test('tcp of a script refuses hosts that the owner did not give, and invalid addresses', async () => {
    const lines = await said(`
      say(tcp.new('tcp://127.0.0.2:80'))
      for _, uri in ipairs({ '127.0.0.1:80', 'http://127.0.0.1:80', 'tcp://127.0.0.1', 'tcp://', 'tcp://127.0.0.1:0' }) do
        say(tcp.new(uri))
      end
      say(tcp.new('tcp://127.0.0.01:80'))
      raised(tcp.new)
      local connection = tcp.new('tcp://127.0.0.1:1')
      say(connection:write('x')) say(connection:read(1, 100)) say(connection:read_line(100))
      raised(connection.read, connection, 0) raised(connection.read, connection, ${SOCKETS.bufferBytes} + 1)
      raised(connection.read, connection, 1, -1) raised(connection.read, 'x')
      say(connection:write(('x'):rep(${SOCKETS.writeBytes} + 1)))
      connection:close()
      say(connection:write('x'))`);
    assert.match(lines[0] ?? '', new RegExp(`^nil the host 127.0.0.2 ${NOT_GIVEN}`));
    for (const line of lines.slice(1, 6)) assert.equal(line, 'nil a connection is called tcp://host:port');
    assert.match(lines[6] ?? '', /leading zeros/);
    assert.deepEqual(lines.slice(7), [
      "bad argument #1 to 'new' (string expected, got nil)",
      ...Array.from({ length: 3 }, () => 'nil connection refused'),
      ...Array.from(
        { length: 2 },
        () => `bad argument #1 to 'read' (1 to ${SOCKETS.bufferBytes} bytes expected)`,
      ),
      "bad argument #2 to 'read' (milliseconds expected)",
      'the connection is called with a dot, use a colon',
      `nil at most ${SOCKETS.writeBytes} bytes are written at once`,
      'nil the connection is closed',
    ]);
  });

  test('tcp of a script refuses a host that is removed from the configuration when it connects', async (t) => {
    const port = await tcpServer(t, (socket) => socket.end());
    const [, bench] = await saidBy(
      `local connection = tcp.new('tcp://127.0.0.1:${port}')
      enapter.register_command_handler('ask', function()
        local _, err = connection:write('x')
        return { err = err }
      end)`,
      given('127.0.0.1'),
    );
    bench.configure({ connection: {} }, []);
    const [response] = await bench.command('ask');
    assert.match(JSON.stringify(response), new RegExp(NOT_GIVEN));
  });

  test('tcp of a script reads bytes by count and by line, and keeps what follows', async (t) => {
    const port = await tcpServer(t, (socket) => {
      socket.on('data', (bytes: Buffer) =>
        socket.write(Buffer.concat([bytes, Buffer.from('one\r\ntwo\n\0\xff!', 'latin1')])),
      );
    });
    const lines = await said(`
      local connection = tcp.new('tcp://127.0.0.1:${port}')
      say(connection:write('ab'))
      say(connection:read(2, 1000))
      say(connection:read_line(1000)) say(connection:read_line(1000))
      say(connection:read(2, 1000) == '\\0\\xff') say(connection:read(5, 50)) say(connection:read(5, 50))
      connection:write('x')
      say(connection:read_line(1000)) say(connection:read_line(1000))`);
    assert.deepEqual(lines, [
      'true nil',
      'ab nil',
      'one nil',
      'two nil',
      'true',
      '! nil',
      'nil timeout',
      'xone nil',
      'two nil',
    ]);
  });

  test('tcp of a script gets the rest when a connection ends, then the end, then a new connection', async (t) => {
    const port = await tcpServer(t, (socket, number) => socket.end(`hello ${number}`));
    const lines = await said(`
      local connection = tcp.new('tcp://127.0.0.1:${port}')
      for _ = 1, 4 do say(connection:read(100, 1000)) end`);
    assert.deepEqual(lines, ['hello 1 nil', 'nil connection closed', 'hello 2 nil', 'nil connection closed']);
  });

  test('tcp of a script lets a device wait that sends more than the script takes', async (t) => {
    const port = await tcpServer(t, (socket) => {
      socket.write(Buffer.alloc(64 * SOCKETS.bufferBytes, 'x'));
      socket.write('\nend\n');
    });
    const lines = await said(`
      local connection = tcp.new('tcp://127.0.0.1:${port}')
      say(connection:read_line(5000))
      local total = 0
      repeat
        local bytes = connection:read(1024, 1000)
        total = total + #(bytes or '')
      until not bytes or bytes:find('end')
      say(total > ${32 * SOCKETS.bufferBytes})`);
    assert.match(lines[0] ?? '', /^nil the line has more than 65536 bytes/);
    assert.equal(lines[1], 'true');
  });

  test('tcp of a script closes the longest unused connection beyond the limit, and all when the script ends', async (t) => {
    const open = new Set<net.Socket>();
    const port = await tcpServer(t, (socket) => {
      open.add(socket);
      socket.on('close', () => open.delete(socket));
      socket.resume();
    });
    const [lines, bench] = await saidBy(
      `local connections = {}
      for i = 1, ${SOCKETS.open} do
        connections[i] = tcp.new('tcp://127.0.0.1:${port}')
        connections[i]:write('x')
      end
      connections[1]:write('x')
      tcp.new('tcp://127.0.0.1:${port}'):write('x')
      say(connections[1]:write('x')) say(connections[2]:write('x'))`,
      given('127.0.0.1'),
    );
    assert.deepEqual(lines, ['true nil', 'nil the connection is closed']);
    await until(() => open.size === SOCKETS.open);
    bench.device.close();
    await until(() => open.size === 0);
  });
});

describe('udp of a script', () => {
  async function peer(t: TestContext, onMessage: (bytes: Buffer, from: RemoteInfo) => void): Promise<number> {
    const socket = createSocket('udp4');
    socket.on('message', onMessage);
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    t.after(() => void socket.close());
    return socket.address().port;
  }

  test('udp of a script refuses hosts and groups that the owner did not give, and invalid arguments', async (t) => {
    const taken = await peer(t, () => undefined);
    const lines = await said(`
      local socket = udp.new()
      say(socket:send('x', '127.0.0.2', 9)) say(socket:send('x', '255.255.255.255', 9))
      say(udp.new({ group = '239.12.255.254' })) say(udp.new({ group = '192.168.1.1' }))
      say(udp.new({ port = ${taken} }))
      raised(udp.new, 5) raised(udp.new, { port = 70000 })
      raised(socket.send, socket, 'x', '127.0.0.1', 0)
      say(socket:send(('x'):rep(${SOCKETS.datagramBytes} + 1), '127.0.0.1', 9))
      say(socket:receive(20))
      socket:close()
      say(socket:receive(20))`);
    assert.match(lines[0] ?? '', new RegExp(`^nil the host 127.0.0.2 ${NOT_GIVEN}`));
    assert.match(lines[1] ?? '', new RegExp(`^nil the host 255.255.255.255 ${NOT_GIVEN}`));
    assert.match(lines[2] ?? '', new RegExp(`^nil the host 239.12.255.254 ${NOT_GIVEN}`));
    assert.equal(lines[3], 'nil 192.168.1.1 is no multicast group: they are 224.0.0.0 to 239.255.255.255');
    assert.equal(lines[4], `nil port ${taken} is in use by another program`);
    assert.deepEqual(lines.slice(5), [
      "bad argument #1 to 'new' (table expected, got number)",
      "bad argument #1 to 'new' (a port from 0 to 65535 expected)",
      "bad argument #3 to 'send' (a port from 1 to 65535 expected)",
      `nil a datagram has at most ${SOCKETS.datagramBytes} bytes`,
      'nil timeout',
      'nil the connection is closed',
    ]);
  });

  test('udp of a script sends and gets exact bytes, with the address that they came from', async (t) => {
    const port = await peer(t, function (this: void, bytes, from) {
      const answer = createSocket('udp4');
      answer.send(Buffer.concat([Buffer.from([255]), bytes]), from.port, from.address, () => answer.close());
    });
    const lines = await said(`
      local socket = udp.new()
      say(socket:send('a\\0b', '127.0.0.1', ${port}))
      local bytes, host, from = socket:receive(1000)
      say(#bytes, bytes:byte(1), bytes:byte(3), host, math.type(from))`);
    assert.deepEqual(lines, ['true nil', '4 255 0 127.0.0.1 integer']);
  });

  test('udp of a script shares a fixed port with the other scripts of its thread, and each gets the answers of its device', async (t) => {
    // As KEBA chargers do: whoever asks, the answer goes to one port.
    const answerTo = await peer(t, () => undefined).then((port) => port + 1);
    const charger = async (address: string): Promise<number> => {
      const socket = createSocket('udp4');
      socket.on('message', (bytes) => socket.send(`${address}: ${bytes.toString()}`, answerTo, '127.0.0.1'));
      socket.bind(0, address);
      await once(socket, 'listening');
      t.after(() => void socket.close());
      return socket.address().port;
    };
    const udpSockets = new UdpSockets();
    const script = async (address: string): Promise<ScriptBench> => {
      const port = await charger(address);
      const [, bench] = await saidBy(
        `local socket, err
        enapter.register_command_handler('open', function()
          socket, err = udp.new({ port = ${answerTo} })
          return { err = err }
        end)
        enapter.register_command_handler('ask', function()
          socket:send('report 2', '${address}', ${port})
          local bytes = socket:receive(2000)
          return { bytes = bytes, more = socket:receive(20) }
        end)
        enapter.register_command_handler('close', function() socket:close() return {} end)`,
        { ...given(address), udpSockets },
      );
      return bench;
    };
    const addresses = ['127.0.0.2', '127.0.0.3'];
    const benches = await Promise.all(addresses.map(script));
    const each = async (name: string): Promise<unknown[]> => {
      const responses = await Promise.all(benches.map((bench) => bench.command(name)));
      return responses.map(([response]) => response?.['payload']);
    };
    assert.deepEqual(await each('open'), [{}, {}]);
    const answers = addresses.map((address) => ({ bytes: `${address}: report 2` }));
    assert.deepEqual(await each('ask'), answers);
    await benches[0]?.command('close');
    assert.deepEqual((await benches[1]?.command('ask'))?.[0]?.['payload'], answers[1]);
    await benches[1]?.command('close');
    assert.deepEqual(await each('open'), [{}, {}]);
    assert.deepEqual(await each('ask'), answers);
  });

  test('udp of a script drops datagrams of hosts that the owner did not give', async (t) => {
    const port = await peer(t, () => undefined);
    const [, bench] = await saidBy(
      `local socket = udp.new({ port = ${port + 1} })
      enapter.register_command_handler('ask', function() return { bytes = socket:receive(50) } end)`,
      given('192.0.2.1'),
    );
    const sender = createSocket('udp4');
    t.after(() => void sender.close());
    await new Promise((resolve) => sender.send('x', port + 1, '127.0.0.1', resolve));
    assert.deepEqual((await bench.command('ask'))[0]?.['payload'], {});
    bench.configure({ connection: { address: '127.0.0.1' } }, []);
    await new Promise((resolve) => sender.send('y', port + 1, '127.0.0.1', resolve));
    assert.deepEqual((await bench.command('ask'))[0]?.['payload'], { bytes: 'y' });
  });

  test('udp of a script joins a multicast group that the owner gave', async (t) => {
    const port = await peer(t, () => undefined);
    const [, bench] = await saidBy(
      `local socket, err = udp.new({ port = ${port + 1}, group = '239.12.255.254' })
      say(socket ~= nil, err)
      enapter.register_command_handler('ask', function() return { bytes = socket:receive(1000) } end)`,
      given('239.12.255.254:9522'),
    );
    assert.deepEqual(bench.logs(), ['info: true nil']);
    const sender = createSocket('udp4');
    sender.bind(0, '127.0.0.1');
    await once(sender, 'listening');
    t.after(() => void sender.close());
    sender.setMulticastInterface('127.0.0.1');
    await new Promise((resolve) => sender.send('meter', port + 1, '239.12.255.254', resolve));
    assert.deepEqual((await bench.command('ask'))[0]?.['payload'], { bytes: 'meter' });
  });

  test('udp of a script sends broadcasts with the option only, and gets answers of its own networks', async () => {
    const lines = await said(
      `say(udp.new():send('x', '255.255.255.255', 9))
      local socket = udp.new({ broadcast = true })
      local ok, err = socket:send('x', '127.255.255.255', 9)
      say(ok or err)`,
      given('255.255.255.255', '127.255.255.255'),
    );
    assert.equal(lines[0], 'nil a broadcast needs the option broadcast');
    assert.equal(lines[1], 'true');
  });

  test('udp of a script drops the oldest waiting datagrams, and sends no more than its rate', async (t) => {
    const port = await peer(t, () => undefined);
    const lines = await said(`
      local socket = udp.new({ port = ${port + 1} })
      for i = 1, ${SOCKETS.sendBurst} do socket:send(tostring(i), '127.0.0.1', ${port + 1}) end
      local refused
      for _ = 1, 100 do
        local ok, err = socket:send('more', '127.0.0.1', ${port})
        refused = refused or err
      end
      say(refused)
      say(socket:receive(1000))`);
    assert.equal(lines[0], 'too many datagrams');
    assert.match(lines[1] ?? '', /^1 127.0.0.1/);
  });
});

describe('websocket of a script', () => {
  async function wsServer(
    t: TestContext,
    onSocket: (socket: WebSocket, request: http.IncomingMessage) => void,
    server: net.Server = http.createServer(),
  ): Promise<string> {
    const sockets = new WebSocketServer({ server: server as http.Server });
    sockets.on('connection', onSocket);
    t.after(() => {
      for (const socket of sockets.clients) socket.terminate();
    });
    return `127.0.0.1:${await listen(t, server)}`;
  }

  test('websocket of a script refuses an address without WebSocket, and reports the reason of a server', async (t) => {
    const plain = await listen(
      t,
      http.createServer((_request, response) => response.writeHead(404).end()),
    );
    const lines = await said(`
      for _, url in ipairs({ 'http://127.0.0.1', 'ws://', '127.0.0.1' }) do say(websocket.new(url)) end
      say(websocket.new('ws://127.0.0.01/'))
      raised(websocket.new) raised(websocket.new, 'ws://a', 5) raised(websocket.new, 'ws://a', { headers = { X = 'a\\r\\nb' } })
      say(websocket.new('ws://127.0.0.1:1'):send('x')) say(websocket.new('ws://127.0.0.1:${plain}/'):receive(50))
      local socket = websocket.new('ws://127.0.0.1:1')
      say(socket:send(('x'):rep(${SOCKETS.messageBytes} + 1)))
      socket:close()
      say(socket:send('x'))`);
    for (const line of lines.slice(0, 3))
      assert.equal(line, 'nil a WebSocket is called ws://host or wss://host');
    assert.match(lines[3] ?? '', /leading zeros/);
    assert.deepEqual(lines.slice(4), [
      "bad argument #1 to 'new' (string expected, got nil)",
      "bad argument #2 to 'new' (table expected, got number)",
      "bad argument #2 to 'new' (headers must have texts)",
      'nil connection refused',
      'nil the server answered 404 instead of opening a WebSocket',
      `nil a message has at most ${SOCKETS.messageBytes} bytes`,
      'nil the connection is closed',
    ]);
  });

  test('websocket of a script sends and gets texts and bytes, with headers and a protocol', async (t) => {
    const host = await wsServer(t, (socket, request) => {
      socket.send(`${String(request.headers['x-key'])} ${socket.protocol}`);
      socket.on('message', (data, isBinary) => socket.send(data as Buffer, { binary: isBinary }));
    });
    const lines = await said(`
      local socket = websocket.new('ws://${host}/rpc', { headers = { ['X-Key'] = 'k' }, protocols = { 'jsonrpc' } })
      say(socket:receive(1000))
      say(socket:send('Fühler')) say(socket:receive(1000))
      socket:send('\\xff\\0', { binary = true })
      local bytes = socket:receive(1000)
      say(#bytes, bytes:byte(1)) say(socket:receive(20))`);
    assert.deepEqual(lines, ['k jsonrpc nil', 'true nil', 'Fühler nil', '2 255', 'nil timeout']);
  });

  test('websocket of a script reports the end of a connection once, and then opens another', async (t) => {
    let count = 0;
    const host = await wsServer(t, (socket) => {
      count += 1;
      socket.send(`hello ${count}`);
      socket.close(1_001, 'restart');
    });
    const lines = await said(`
      local socket = websocket.new('ws://${host}/')
      for _ = 1, 3 do say(socket:receive(1000)) end`);
    assert.deepEqual(lines, ['hello 1 nil', 'nil connection closed: restart', 'hello 2 nil']);
  });

  test('websocket of a script gets every message of a segment that has several, of fragments, between pings', async (t) => {
    const frame = (opcode: number, text: string): Buffer =>
      Buffer.concat([Buffer.of(opcode, text.length), Buffer.from(text)]);
    const [FIRST, TEXT, LAST, PING] = [0x01, 0x81, 0x80, 0x89];
    const host = await wsServer(t, (socket, { socket: line }) =>
      socket.on('message', () =>
        line.write(
          Buffer.concat([
            frame(TEXT, 'one'),
            ...Array.from({ length: 20 }, () => frame(PING, 'p')),
            frame(FIRST, 'tw'),
            frame(PING, ''),
            frame(LAST, 'o'),
            frame(TEXT, 'three'),
          ]),
        ),
      ),
    );
    const lines = await said(`
      local socket = websocket.new('ws://${host}/')
      socket:send('go')
      for _ = 1, 3 do say(socket:receive(1000)) end`);
    assert.deepEqual(lines, ['one nil', 'two nil', 'three nil']);
  });

  test('websocket of a script tells the code of a close that has one and no text', async (t) => {
    const codes = [4_001, 1_000];
    const host = await wsServer(t, (socket) => socket.close(codes.shift()));
    const lines = await said(`
      local socket = websocket.new('ws://${host}/')
      for _ = 1, 2 do say(socket:receive(1000)) end`);
    assert.deepEqual(lines, ['nil connection closed with code 4001', 'nil connection closed']);
  });

  test('websocket of a script lets a server wait that sends more than the script takes, and ends over a message that is too large', async (t) => {
    const many = SOCKETS.queuedMessages * 3;
    const host = await wsServer(t, (socket, request) => {
      if (request.url === '/large') socket.send('x'.repeat(SOCKETS.messageBytes + 1));
      else for (let index = 1; index <= many; index += 1) socket.send(String(index));
    });
    const lines = await said(`
      local socket = websocket.new('ws://${host}/')
      local last
      for _ = 1, ${many} do last = socket:receive(1000) end
      say(last)
      say(websocket.new('ws://${host}/large'):receive(1000))`);
    assert.equal(lines[0], String(many));
    assert.match(lines[1] ?? '', /^nil .*payload size/i);
  });

  test('websocket of a script names insecure_tls where the certificate is not accepted, and takes an authority', async (t) => {
    const tls = await startBench(t).open();
    const host = await wsServer(t, (socket) => socket.send('in'), https.createServer(tls.serverContext()));
    const lines = await said(`
      say(websocket.new('wss://${host}/'):receive(1000))
      say(websocket.new('wss://${host}/', { insecure_tls = true }):receive(1000))
      say(websocket.new('wss://${host}/', { ca = [[${tls.caPem}]] }):receive(1000))`);
    assert.match(lines[0] ?? '', /^nil tls: .*insecure_tls/);
    assert.deepEqual(lines.slice(1), ['in nil', 'in nil']);
  });
});
