/** `tcp`, `udp` and `websocket` (docs/interface/lua-devices.md#tcp-udp-and-websocket). */
import { isIP } from 'node:net';
import { failureText } from '#scripting/http';
import {
  bytesArgument,
  type HostFunction,
  type HostResult,
  type Library,
  LuaError,
  type LuaValue,
  numberArgument,
  numberArgumentOr,
  tableArgument,
  textArgument,
  waiting,
} from '#scripting/lua';
import { hostOf, leadingZeros } from '../../lib/address.ts';
import type { Limits } from '../../lib/limits.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { TcpStream } from '../field/tcp-stream.ts';
import { UdpPort, type UdpSockets } from '../field/udp-port.ts';
import { ScriptWebSocket } from '../field/web-socket.ts';
import type { ConfigurationGroups } from '../thread-messages.ts';
import { failedResult, type ScriptHost } from './script-host.ts';

const TCP = String.raw`
local tcp, methods = {}, {}
local read, read_line, write = kit.wait('tcp_read'), kit.wait('tcp_read_line'), kit.wait('tcp_write')
local new_object, number_of = kit.objects('the connection')
local function outcome(value, message) return value, message end

function tcp.new(uri)
  kit.check(uri, 'string', 1, 'new')
  local number, message = host.tcp_new(uri)
  if not number then return nil, message end
  return new_object(methods, number)
end

function methods.read(connection, count, timeout) return outcome(read(number_of(connection), count, timeout)) end
function methods.read_line(connection, timeout) return outcome(read_line(number_of(connection), timeout)) end
function methods.write(connection, bytes) return outcome(write(number_of(connection), bytes)) end
function methods.close(connection) host.socket_close(number_of(connection)) end
return tcp
`;

const UDP = String.raw`
local udp, methods = {}, {}
local open, send, receive = kit.wait('udp_new'), kit.wait('udp_send'), kit.wait('udp_receive')
local new_object, number_of = kit.objects('the socket')
local function outcome(value, message) return value, message end

function udp.new(options)
  options = options or {}
  kit.check(options, 'table', 1, 'new')
  local number, message = open(options.port, options.group, options.broadcast and true or false)
  if not number then return nil, message end
  return new_object(methods, number)
end

function methods.send(socket, bytes, host, port) return outcome(send(number_of(socket), bytes, host, port)) end
function methods.receive(socket, timeout)
  local bytes, from, port = receive(number_of(socket), timeout)
  if not bytes then return nil, from end
  return bytes, from, port
end
function methods.close(socket) host.socket_close(number_of(socket)) end
return udp
`;

const WEBSOCKET = String.raw`
local websocket, methods = {}, {}
local send, receive = kit.wait('websocket_send'), kit.wait('websocket_receive')
local new_object, number_of = kit.objects('the connection')
local function outcome(value, message) return value, message end

function websocket.new(url, options)
  kit.check(url, 'string', 1, 'new')
  if options ~= nil then kit.check(options, 'table', 2, 'new') end
  local number, message = host.websocket_new(url, options)
  if not number then return nil, message end
  return new_object(methods, number)
end

function methods.send(connection, text, options)
  if options ~= nil then kit.check(options, 'table', 2, 'send') end
  return outcome(send(number_of(connection), text, options and options.binary and true or false))
end
function methods.receive(connection, timeout) return outcome(receive(number_of(connection), timeout)) end
function methods.close(connection) host.socket_close(number_of(connection)) end
return websocket
`;

export const SOCKET_LIBRARY: Library = {
  name: 'sockets',
  parts: { tcp: TCP, udp: UDP, websocket: WEBSOCKET },
  source: `for _, name in ipairs({ 'tcp', 'udp', 'websocket' }) do kit.later(kit.library(name, {}), name, 'new') end`,
};

interface SocketOptions {
  clock: Clock;
  udpSockets: UdpSockets;
  limits: Limits['lua']['sockets'];
}

type Kept = TcpStream | UdpPort | ScriptWebSocket;

/** Open sockets of one script, the least recently used first. */
class OpenSockets {
  readonly #max: number;
  readonly #kept = new Map<number, Kept>();
  #last = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(socket: Kept): HostResult {
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= this.#max) this.close(oldest);
    this.#kept.set(++this.#last, socket);
    return [BigInt(this.#last)];
  }

  #use<Kind extends Kept>(number: LuaValue, kind: abstract new (...args: never[]) => Kind): Kind | undefined {
    const key = numberArgument(number, 1, 'new');
    const socket = this.#kept.get(key);
    if (!(socket instanceof kind)) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, socket);
    return socket;
  }

  /** A function on an open socket of that kind, which the script gives first. */
  using<Kind extends Kept>(
    kind: abstract new (...args: never[]) => Kind,
    use: (socket: Kind, given: LuaValue[], deadlineMs: MonotonicMs | undefined) => Promise<HostResult>,
  ): HostFunction {
    return waiting(async ([number, ...given], deadlineMs) => {
      const socket = this.#use(number, kind);
      return socket ? use(socket, given, deadlineMs) : CLOSED;
    });
  }

  close(key: number): void {
    this.#kept.get(key)?.close();
    this.#kept.delete(key);
  }

  closeAll(): void {
    for (const key of this.#kept.keys()) this.close(key);
  }
}

const CLOSED = failedResult('the connection is closed', 3);

/** Functions for one script, and how everything that it has open is closed. */
export function socketFunctions(
  host: ScriptHost,
  options: SocketOptions,
): { functions: Record<string, HostFunction>; close: () => void } {
  const open = new OpenSockets(options.limits.open);
  return {
    functions: {
      ...tcpFunctions(host, options, open),
      ...udpFunctions(host, options, open),
      ...websocketFunctions(host, options, open),
      socket_close: ([number]) => open.close(numberArgument(number, 1, 'close')),
    },
    close: () => open.closeAll(),
  };
}

/** The time to wait: as the script says, no longer than its call. */
function waitMs(
  timeout: LuaValue,
  deadlineMs: MonotonicMs = Number.POSITIVE_INFINITY,
  { clock, limits }: SocketOptions,
  position: number,
  name: string,
): number {
  const wantedMs = numberArgumentOr(timeout, position, name, limits.timeoutMs);
  if (!(wantedMs >= 0)) throw new LuaError(`bad argument #${position} to '${name}' (milliseconds expected)`);
  return Math.max(0, Math.min(wantedMs, limits.timeoutMsMax, deadlineMs - clock.monotonicMs()));
}

type SocketTransport = 'tcp' | 'udp' | 'websocket';

/** Results for the script, which a trace of its device gets, too. */
function notedResults(host: ScriptHost, clock: Clock) {
  return {
    sent: (
      transport: SocketTransport,
      address: string,
      bytes: Uint8Array,
      problem: string | undefined,
    ): HostResult => {
      host.trace()?.({ transport, address, atMs: clock.wallMs(), sent: bytes, error: problem });
      return problem === undefined ? [true] : failedResult(problem, 2);
    },
    received: (transport: SocketTransport, address: string, found: Buffer | string): HostResult => {
      const isFailed = typeof found === 'string';
      const outcome = isFailed ? { error: found } : { received: Uint8Array.from(found) };
      host.trace()?.({ transport, address, atMs: clock.wallMs(), ...outcome });
      return isFailed ? failedResult(found, 1) : [Uint8Array.from(found)];
    },
  };
}

function tcpFunctions(
  host: ScriptHost,
  options: SocketOptions,
  open: OpenSockets,
): Record<string, HostFunction> {
  const { clock, limits } = options;
  const noted = notedResults(host, clock);
  return {
    tcp_new: ([uri]) => {
      const text = textArgument(uri, 1, 'new').trim();
      const url = URL.parse(text);
      const name = hostOf(text)?.replace(/^\[(.*)\]$/, '$1');
      if (url?.protocol !== 'tcp:' || !name || url.port === '' || url.port === '0')
        return failedResult('a connection is called tcp://host:port', 3);
      const refusal = (): string | undefined => hostRefusal(name, host.groups());
      const refused = refusal();
      if (refused !== undefined) return failedResult(refused, 3);
      const address = { host: name, port: Number(url.port) };
      return open.add(new TcpStream({ ...address, clock, limits, refusal, wordsOf: failureText }));
    },
    tcp_write: open.using(TcpStream, async (stream, [data]) => {
      const bytes = Uint8Array.from(bytesArgument(data, 1, 'write'));
      if (bytes.length > limits.writeBytes)
        return failedResult(`at most ${limits.writeBytes} bytes are written at once`, 3);
      return noted.sent('tcp', stream.address, bytes, await stream.write(bytes));
    }),
    tcp_read: open.using(TcpStream, async (stream, [wanted, timeout], deadlineMs) => {
      const count = numberArgument(wanted, 1, 'read');
      if (!Number.isInteger(count) || count < 1 || count > limits.bufferBytes)
        throw new LuaError(`bad argument #1 to 'read' (1 to ${limits.bufferBytes} bytes expected)`);
      const timeoutMs = waitMs(timeout, deadlineMs, options, 2, 'read');
      return noted.received('tcp', stream.address, await stream.read(count, timeoutMs));
    }),
    tcp_read_line: open.using(TcpStream, async (stream, [timeout], deadlineMs) => {
      const timeoutMs = waitMs(timeout, deadlineMs, options, 1, 'read_line');
      return noted.received('tcp', stream.address, await stream.readLine(timeoutMs));
    }),
  };
}

function portArgument(value: LuaValue, position: number, name: string, least: number): number {
  const port = numberArgument(value, position, name);
  if (Number.isInteger(port) && port >= least && port <= 65_535) return port;
  throw new LuaError(`bad argument #${position} to '${name}' (a port from ${least} to 65535 expected)`);
}

const GROUP = /^(?:22[4-9]|23\d)(?:\.\d{1,3}){3}$/;

function udpFunctions(
  host: ScriptHost,
  options: SocketOptions,
  open: OpenSockets,
): Record<string, HostFunction> {
  const { clock, limits, udpSockets: sockets } = options;
  const refusal = (name: string): string | undefined => hostRefusal(name, host.groups());
  const noted = notedResults(host, clock);
  return {
    udp_new: waiting(async ([port, groupName, isBroadcast]) => {
      const group = groupName === undefined ? undefined : textArgument(groupName, 1, 'new');
      if (group !== undefined && !GROUP.test(group))
        return failedResult(`${group} is no multicast group: they are 224.0.0.0 to 239.255.255.255`, 3);
      const socket = await UdpPort.open({
        sockets,
        port: port === undefined ? 0 : portArgument(port, 1, 'new', 0),
        group,
        isBroadcast: isBroadcast === true,
        clock,
        limits,
        refusal,
        wordsOf: failureText,
      });
      return typeof socket === 'string' ? failedResult(socket, 3) : open.add(socket);
    }),
    udp_send: open.using(UdpPort, async (socket, [data, name, port]) => {
      const bytes = Uint8Array.from(bytesArgument(data, 1, 'send'));
      const to = textArgument(name, 2, 'send');
      const toPort = portArgument(port, 3, 'send', 1);
      return noted.sent('udp', `${to}:${toPort}`, bytes, await socket.send(bytes, to, toPort));
    }),
    udp_receive: open.using(UdpPort, async (socket, [timeout], deadlineMs) => {
      const found = await socket.receive(waitMs(timeout, deadlineMs, options, 1, 'receive'));
      if (typeof found === 'string') return failedResult(found, 1);
      noted.received('udp', `${found.host}:${found.port}`, found.bytes);
      return [Uint8Array.from(found.bytes), found.host, BigInt(found.port)];
    }),
  };
}

function websocketFunctions(
  host: ScriptHost,
  options: SocketOptions,
  open: OpenSockets,
): Record<string, HostFunction> {
  const { clock, limits } = options;
  const noted = notedResults(host, clock);
  return {
    websocket_new: ([address, table]) => {
      const url = textArgument(address, 1, 'new').trim();
      const protocol = URL.parse(url)?.protocol;
      if (protocol !== 'ws:' && protocol !== 'wss:')
        return failedResult('a WebSocket is called ws://host or wss://host', 3);
      const zeros = leadingZeros(hostOf(url) ?? '');
      if (zeros !== undefined) return failedResult(zeros, 3);
      const given = table === undefined ? {} : (tableArgument(table, 2, 'new') as Record<string, unknown>);
      const protocols = textsOf(given['protocols'] ?? [], 'protocols');
      const headers = textsOf(given['headers'] ?? {}, 'headers');
      return open.add(
        new ScriptWebSocket({
          url,
          headers,
          protocols: Object.values(protocols),
          caPem: textsOf(given['ca'] === undefined ? {} : { ca: given['ca'] }, 'ca')['ca'],
          insecureTls: given['insecure_tls'] === true,
          clock,
          limits,
          wordsOf: failureText,
        }),
      );
    },
    websocket_send: open.using(ScriptWebSocket, async (socket, [message, isBinary]) => {
      const bytes = Buffer.from(bytesArgument(message, 1, 'send'));
      return noted.sent('websocket', socket.address, bytes, await socket.send(bytes, isBinary === true));
    }),
    websocket_receive: open.using(ScriptWebSocket, async (socket, [timeout], deadlineMs) => {
      const found = await socket.receive(waitMs(timeout, deadlineMs, options, 1, 'receive'));
      return noted.received('websocket', socket.address, typeof found === 'string' ? found : found.bytes);
    }),
  };
}

/** A table or list of texts. @throws LuaError naming the option */
function textsOf(value: unknown, name: string): Record<string, string> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : undefined;
  if (
    entries === undefined ||
    entries.some(([, text]) => typeof text !== 'string' || (/[\r\n\0]/.test(text) && name !== 'ca'))
  )
    throw new LuaError(`bad argument #2 to 'new' (${name} must have texts)`);
  return Object.fromEntries(entries as [string, string][]);
}

// Which hosts the owner of a device gave: those in the values of its configuration. Pure.

/** Characters of a host; a colon as well, for IPv6. */
const PART = /[A-Za-z0-9._-]/;

/** Why a script may not speak with the host; undefined when a value of the configuration has it. */
export function hostRefusal(host: string, groups: ConfigurationGroups): string | undefined {
  const zeros = leadingZeros(host);
  if (zeros !== undefined) return zeros;
  if (isIP(host) === 0 && !/[a-z]/i.test(host)) return `${host} is no host`;
  const wanted = host.toLowerCase();
  const isGiven = Object.values(groups).some((group) =>
    Object.values(group).some((value) => has(value, wanted)),
  );
  if (isGiven) return undefined;
  return `the host ${host} is not in the configuration of the device: scripts speak TCP and UDP only with addresses that its owner gave`;
}

/** Whether a text has the host as a whole, alone or within a URI or a list. */
function has(value: unknown, host: string): boolean {
  if (Array.isArray(value)) return value.some((item) => has(item, host));
  if (typeof value !== 'string') return false;
  const text = value.toLowerCase();
  const isIPv6 = host.includes(':');
  const isPart = (char: string): boolean => PART.test(char) || (isIPv6 && char === ':');
  for (let at = text.indexOf(host); at >= 0; at = text.indexOf(host, at + 1))
    if (!isPart(text.charAt(at - 1)) && !isPart(text.charAt(at + host.length))) return true;
  return false;
}
