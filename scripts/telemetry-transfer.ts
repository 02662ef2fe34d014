/** `npm run telemetry-transfer`: moves telemetry between boxes, as the CSV files that the API gives and takes. */
import { createReadStream, mkdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { messageOf } from '../src/lib/errors.ts';
import { parseTimestampMs } from '../src/lib/time.ts';
import { parseArguments, UsageError } from './support/arguments.ts';

const HELP = `Moves telemetry between gateways.

  npm run --silent telemetry-transfer -- export --token TOKEN --device ID --from TIME --to TIME [--folder DIR]
  npm run --silent telemetry-transfer -- import --token TOKEN [--device ID] FILE...

  --gateway URL  address of the gateway (default http://127.0.0.1:8080)
  --token TOKEN  access token; import needs the role OWNER
  --device ID    id or slug; export writes one file per six hours that have data, import writes into this device
                 instead of the one that the file names
  --from, --to   RFC 3339 or Unix seconds
  --folder DIR   where to write (default telemetry-export)

The device and its attributes must exist on the gateway that imports. Importing a file again changes nothing.
`;

/** So many buckets of one second that ninety attributes stay below the limit of a query. */
const WINDOW_S = 6 * 3_600;

interface Gateway {
  url: string;
  token: string;
}

async function request(
  gateway: Gateway,
  path: string,
  init: RequestInit & { duplex?: 'half' },
): Promise<Response> {
  const headers = { 'X-Service-Auth-Token': gateway.token, ...(init.headers as Record<string, string>) };
  const answer = await fetch(`${gateway.url}/v3/telemetry/${path}`, { ...init, headers }).catch(
    (error: unknown) => {
      // Its own words say nothing.
      const { cause = error } = error as Error;
      throw new Error(`${gateway.url}: ${messageOf(cause)}`, { cause: error });
    },
  );
  if (answer.ok) return answer;
  throw new Error(`${answer.status}: ${(await answer.text()).slice(0, 500)}`);
}

/** Writes one file; false when the window has no data. */
async function exportWindow(
  gateway: Gateway,
  device: string,
  fromS: number,
  toS: number,
  path: string,
): Promise<boolean> {
  const answer = await request(gateway, 'query_timeseries', {
    method: 'POST',
    headers: { Accept: 'text/csv' },
    body: JSON.stringify({
      from: fromS,
      to: toS,
      granularity: '1s',
      aggregation: 'last',
      text_format: 'json',
      telemetry: [{ device, attribute: [{}, 'alerts'] }],
    }),
  });
  if (!answer.body) throw new Error('the gateway answered nothing');
  const file = await open(path, 'w');
  let sizeBytes = 0;
  let headBytes = 0;
  try {
    for await (const chunk of answer.body) {
      const bytes = chunk as Uint8Array;
      if (headBytes === 0) headBytes = bytes.indexOf(10) + 1;
      sizeBytes += bytes.length;
      await file.write(bytes);
    }
  } finally {
    await file.close();
  }
  return sizeBytes > headBytes;
}

async function exportAll(
  gateway: Gateway,
  device: string,
  fromS: number,
  toS: number,
  folder: string,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (let startS = fromS; startS < toS; startS += WINDOW_S) {
    const path = join(folder, `${device}-${startS}.csv`);
    const hasData = await exportWindow(gateway, device, startS, Math.min(toS, startS + WINDOW_S), path);
    if (hasData) console.log(path);
  }
}

/** The file, with another device in the head when one is given. */
async function* contentOf(path: string, device: string | undefined): AsyncGenerator<Uint8Array> {
  let head: Buffer | undefined = device === undefined ? undefined : Buffer.alloc(0);
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf(10);
    if (end < 0) continue;
    yield Buffer.from(head.toString('utf8', 0, end).replaceAll(/ device=[^ ,]+/g, () => ` device=${device}`));
    yield head.subarray(end);
    head = undefined;
  }
  if (head !== undefined) yield head;
}

async function importFile(gateway: Gateway, path: string, device: string | undefined): Promise<void> {
  const body = Readable.toWeb(Readable.from(contentOf(path, device))) as ReadableStream<Uint8Array>;
  const answer = await request(gateway, 'import', {
    method: 'POST',
    headers: { 'Content-Type': 'text/csv' },
    body,
    duplex: 'half',
  });
  console.log(`${path}: ${JSON.stringify(await answer.json())}`);
}

function secondsOf(name: string, text: string | undefined): number {
  const value = text === undefined ? undefined : /^\d+$/.test(text) ? Number(text) : parseTimestampMs(text);
  if (value === undefined) throw new UsageError(`--${name} must be RFC 3339 or Unix seconds`);
  return /^\d+$/.test(text ?? '') ? value : Math.floor(value / 1_000);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArguments({
    gateway: { type: 'string', default: 'http://127.0.0.1:8080' },
    token: { type: 'string', default: '' },
    device: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    folder: { type: 'string', default: 'telemetry-export' },
    help: { type: 'boolean', default: false },
  });
  const [action, ...files] = positionals;
  if (values.help || action === undefined) {
    console.log(HELP);
    return;
  }
  const gateway = { url: values.gateway, token: values.token };
  if (action === 'import') {
    if (files.length === 0) throw new UsageError('name the files to import');
    for (const file of files)
      if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== false)
        throw new UsageError(`${file} is not a file`);
    for (const file of files) await importFile(gateway, file, values.device);
  } else if (action === 'export') {
    if (values.device === undefined) throw new UsageError('--device is missing');
    const range = [secondsOf('from', values.from), secondsOf('to', values.to)] as const;
    await exportAll(gateway, values.device, ...range, values.folder);
  } else throw new UsageError('say export or import');
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = error instanceof UsageError ? 64 : 1;
  }
}
