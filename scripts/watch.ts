/** `npm run watch`: follows the gateway's WebSocket streams and prints a line per message. */
import { WebSocket } from 'ws';
import { messageOf } from '../src/lib/errors.ts';
import { createSystemClock } from '../src/platform/clock/index.ts';
import { parseWords, UsageError } from './support/arguments.ts';

const HELP = `Follows a stream of the gateway and prints one line per message.

  npm run --silent watch -- --token TOKEN [options]

  --stream logs|telemetry|monitor
                    logs or telemetry of one device, or everything of all devices (default: logs with
                    --device, otherwise monitor)
  --device ID       id or slug of the device
  --gateway URL     address of the gateway (default http://127.0.0.1:8080)
  --token TOKEN     access token
  --severity NAME   only logs of this severity: debug, info, warning, error
  --attributes A,B  only these telemetry attributes
  --json            print the messages as received
  --count N         end after this number of messages (default: run until Ctrl-C)

Reconnects after a second when the connection is lost. The same with another tool:
  websocat -H 'X-Service-Auth-Token: TOKEN' ws://127.0.0.1:8080/v3/devices/ID/logs
`;

const RECONNECT_DELAY_MS = 1_000;
const STREAMS = ['logs', 'telemetry', 'monitor'] as const;

interface WatchOptions {
  url: URL;
  token: string;
  asJson: boolean;
  /** Infinity: until interrupted. */
  count: number;
}

function optionsOf(): WatchOptions | undefined {
  const values = parse();
  if (values.help) return undefined;
  const { device, token } = values;
  if (!token) throw new UsageError('--token is missing');
  const stream = values.stream ?? (device ? 'logs' : 'monitor');
  if (!STREAMS.some((known) => known === stream))
    throw new UsageError(`--stream must be one of ${STREAMS.join(', ')}`);
  if (stream !== 'monitor' && !device) throw new UsageError(`--stream ${stream} needs --device`);
  if (!URL.canParse(values.gateway))
    throw new UsageError('--gateway must be an address like http://127.0.0.1:8080');
  const url = new URL(values.gateway);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname =
    stream === 'monitor' ? '/v3/devices' : `/v3/devices/${encodeURIComponent(device ?? '')}/${stream}`;
  if (stream === 'monitor' && device) url.searchParams.set('id.in', device);
  if (values.severity) url.searchParams.set('severity', values.severity);
  if (values.attributes) url.searchParams.set('attribute.in', values.attributes);
  const count = values.count === undefined ? Infinity : Number(values.count);
  if (!(count >= 1)) throw new UsageError('--count must be 1 or more');
  return { url, token, asJson: values.json === true, count };
}

function parse() {
  const text = { type: 'string' } as const;
  return parseWords({
    help: { type: 'boolean' },
    stream: text,
    device: text,
    gateway: { ...text, default: 'http://127.0.0.1:8080' },
    token: text,
    severity: text,
    attributes: text,
    json: { type: 'boolean' },
    count: text,
  });
}

/** One connection. @returns how many messages it showed and why it ended. @throws Error when refused */
function follow(
  options: WatchOptions,
  left: number,
  signal: AbortSignal,
): Promise<{ shown: number; reason: string }> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(options.url, { headers: { 'X-Service-Auth-Token': options.token } });
    let shown = 0;
    let reason = 'closed';
    const stop = (): void => socket.close();
    signal.addEventListener('abort', stop, { once: true });
    socket.on('unexpected-response', (_request, response) => {
      let body = '';
      response.on('data', (part: Buffer) => (body += part.toString('utf8')));
      response.on('end', () => reject(new Error(`${response.statusCode} ${body}`)));
    });
    socket.on('message', (data: Buffer) => {
      if (shown >= left) return;
      shown += 1;
      process.stdout.write(`${options.asJson ? data.toString('utf8') : lineOf(data.toString('utf8'))}\n`);
      if (shown >= left) socket.close();
    });
    socket.on('error', (error) => (reason = messageOf(error)));
    socket.on('close', (code) => {
      signal.removeEventListener('abort', stop);
      resolve({ shown, reason: `${reason} (${code})` });
    });
  });
}

/** Union of the messages of all streams (docs/interface/http.md#streams). */
interface StreamMessage {
  received_at?: string;
  device_id?: string;
  severity?: string;
  message?: string;
  log?: { severity?: string; message?: string };
  telemetry?: unknown;
  properties?: unknown;
  connectivity?: unknown;
}

/** Time, subject and content of a message of any stream. */
export function lineOf(text: string): string {
  const message = JSON.parse(text) as StreamMessage;
  const log = message.log ?? (message.message === undefined ? undefined : message);
  const time = (message.received_at ?? '').slice(11, 23);
  if (log) return `${time} ${(log.severity ?? '').padEnd(7)} ${log.message}`;
  for (const kind of ['telemetry', 'properties', 'connectivity'] as const)
    if (message[kind] !== undefined) return `${time} ${kind} ${message.device_id} ${plain(message[kind])}`;
  return `${time} ${text}`;
}

/** `{"a":1,"b":"x"}` as `a=1 b=x`. */
function plain(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, item]) => `${name}=${typeof item === 'string' ? item : JSON.stringify(item)}`)
    .join(' ');
}

async function main(): Promise<void> {
  const options = optionsOf();
  if (!options) {
    process.stdout.write(HELP);
    return;
  }
  const clock = createSystemClock();
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader has enough, as `head` after its lines.
    if (error.code !== 'EPIPE') throw error;
    stop.abort();
  });
  try {
    for (let left = options.count; left > 0;) {
      const { shown, reason } = await follow(options, left, stop.signal);
      left -= shown;
      if (stop.signal.aborted || left <= 0) return;
      process.stderr.write(`${reason}; connecting again\n`);
      await clock.sleep(RECONNECT_DELAY_MS);
    }
  } finally {
    clock.close();
  }
}

if (import.meta.main)
  try {
    await main();
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
