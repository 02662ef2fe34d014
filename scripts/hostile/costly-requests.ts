/** Callers without a token who ask for as much as they can get: each goes on until it is told to stop. */
import { connect } from 'node:net';
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';

export interface CostlyRequests {
  name: string;
  /** Connections beside each other. */
  lanes: number;
  /** One connection from its beginning to its end, or one request. */
  run: (baseUrl: string, over: AbortSignal) => Promise<void>;
}

const AHEAD = 2_000;
/** A connection that is not ended meanwhile is left. */
const LANE_MS = 2_000;
/** A manifest as large as one may be, of lines that are much alike: a few kilobytes as an archive. */
const ATTRIBUTES = 30_000;

export const COSTLY_REQUESTS: readonly CostlyRequests[] = [
  {
    name: 'requests without a token',
    lanes: 32,
    run: async (baseUrl, over) => ask(`${baseUrl}/v3/devices`, { signal: over }),
  },
  {
    name: 'requests sent ahead',
    lanes: 16,
    run: (baseUrl, over) => sendAhead(Number(new URL(baseUrl).port), over),
  },
  {
    name: 'blueprints to be judged',
    lanes: 16,
    run: async (baseUrl, over) => {
      const body = new FormData();
      body.set('blueprint', new Blob([await archive()]), 'blueprint.zip');
      await ask(`${baseUrl}/v3/blueprints/validate`, { method: 'POST', body, signal: over });
    },
  },
];

const archive = once(async (): Promise<Buffer<ArrayBuffer>> => {
  const attributes = Array.from({ length: ATTRIBUTES }, (_, index) => `  a${index}: {type: float, unit: V}`);
  const manifest = `blueprint_spec: device/3.0\ndisplay_name: A\ntelemetry:\n${attributes.join('\n')}\n`;
  return Buffer.from(await writeArchive(new Map([['manifest.yml', Buffer.from(manifest)]])));
});

function once<Result>(make: () => Result): () => Result {
  let made: { result: Result } | undefined;
  return () => (made ??= { result: make() }).result;
}

/** Whatever the answer is, and whether there is one. */
async function ask(url: string, init: RequestInit): Promise<void> {
  try {
    await (await fetch(url, init)).arrayBuffer();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof DOMException)) throw error;
  }
}

/** All at once on one connection, without waiting for an answer, and gone with the last byte. */
async function sendAhead(port: number, over: AbortSignal): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' });
  // `close` follows, and is what counts.
  socket.on('error', () => undefined);
  socket.resume();
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.write('GET /v3/devices HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(AHEAD));
  const leave = (): void => void socket.destroy();
  const timer = setTimeout(leave, LANE_MS);
  over.addEventListener('abort', leave, { once: true });
  await closed;
  clearTimeout(timer);
  over.removeEventListener('abort', leave);
}
