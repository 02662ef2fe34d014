/**
 * Field traces: what devices are asked and answer, sent to the gateway while somebody looks for a fault. Off unless the
 * gateway asks, bounded, and over by itself.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import type { Limits } from '../lib/limits.ts';
import { withoutSecrets } from '../lib/redaction.ts';
import { cutToBytes } from '../lib/text.ts';
import type { DurationMs, EpochMs } from '../lib/time.ts';
import type { Clock, Timer } from '../platform/clock/index.ts';
import type { FromModule, ToModule, TraceEntry } from '../protocol/module.ts';
import type { OnBytes } from './field/index.ts';

/** One request and its answer, or one of the two. */
export interface Exchange {
  transport: TraceEntry['transport'];
  /** URI, host and port, or topic. */
  address: string;
  unitId?: number;
  /** When it was sent, or came. */
  atMs: EpochMs;
  durationMs?: DurationMs;
  sent?: Uint8Array | undefined;
  received?: Uint8Array | undefined;
  error?: string | undefined;
}

/** Takes the exchanges of one device. */
export type NoteExchange = (exchange: Exchange) => void;

/** Those whose bytes are mostly text, in which people put passwords. */
const TEXTUAL: ReadonlySet<Exchange['transport']> = new Set(['http', 'websocket', 'mqtt']);
/** So much of a text is searched for secrets before it is cut. */
const SEARCHED = 4;

interface TracesOptions {
  clock: Pick<Clock, 'setTimer' | 'setRepeating'>;
  limits: Limits['trace'];
  /** False: the message was not sent. */
  send: (message: FromModule) => boolean;
  isClockBelieved: () => boolean;
  /** Other devices are traced than before. */
  onChanged: () => void;
}

interface Open {
  end: Timer;
  entries: TraceEntry[];
  bytes: number;
  dropped: number;
}

export class Traces {
  readonly #options: TracesOptions;
  readonly #open = new Map<string, Open>();
  #sending: Timer | undefined;

  constructor(options: TracesOptions) {
    this.#options = options;
  }

  /** Channels of the devices that are traced. */
  get channels(): readonly string[] {
    return [...this.#open.keys()];
  }

  /** Begins a trace, or ends it when the gateway gives it no time. */
  follow({ channel_id: channelId, duration_ms: durationMs }: ToModule & { type: 'trace' }): void {
    const { clock, limits, send, onChanged } = this.#options;
    this.#end(channelId);
    if (durationMs > 0) {
      const end = clock.setTimer(durationMs, () => {
        this.#end(channelId);
        onChanged();
      });
      this.#open.set(channelId, { end, entries: [], bytes: 0, dropped: 0 });
      this.#sending ??= clock.setRepeating(limits.sendMs, () => this.#sendAll());
      send({ type: 'trace_entries', channel_id: channelId, entries: [], dropped: 0 });
    }
    onChanged();
  }

  /** Takes an exchange of the device; undefined while it is not traced. */
  of(channelId: string): NoteExchange | undefined {
    const trace = this.#open.get(channelId);
    return trace && ((exchange) => this.#note(trace, exchange));
  }

  stop(): void {
    for (const channelId of this.channels) this.#end(channelId);
  }

  #note(trace: Open, exchange: Exchange): void {
    const { limits, isClockBelieved } = this.#options;
    const entry = entryOf(exchange, limits, isClockBelieved());
    const bytes = ((entry.sent?.length ?? 0) + (entry.received?.length ?? 0)) / 2;
    const isFull = trace.entries.length >= limits.entriesAtOnce || trace.bytes + bytes > limits.bytesAtOnce;
    if (isFull) {
      trace.dropped += 1;
      return;
    }
    trace.entries.push(entry);
    trace.bytes += bytes;
  }

  #end(channelId: string): void {
    const trace = this.#open.get(channelId);
    if (!trace) return;
    trace.end.cancel();
    this.#send(channelId, trace);
    this.#open.delete(channelId);
    if (this.#open.size > 0) return;
    this.#sending?.cancel();
    this.#sending = undefined;
  }

  #sendAll(): void {
    for (const [channelId, trace] of this.#open) this.#send(channelId, trace);
  }

  #send(channelId: string, trace: Open): void {
    const { entries, dropped } = trace;
    if (entries.length === 0 && dropped === 0) return;
    if (!this.#options.send({ type: 'trace_entries', channel_id: channelId, entries, dropped })) return;
    Object.assign(trace, { entries: [], bytes: 0, dropped: 0 });
  }
}

function entryOf(exchange: Exchange, limits: Limits['trace'], isClockBelieved: boolean): TraceEntry {
  const { transport, address, unitId, atMs, durationMs, sent, received, error } = exchange;
  const shown = (bytes: Uint8Array | undefined): Buffer | undefined =>
    bytes && shownBytes(bytes, transport, limits);
  const [shownSent, shownReceived] = [shown(sent), shown(received)];
  const isCut = [shownSent, shownReceived].some((bytes) => (bytes?.length ?? 0) > limits.messageBytes);
  const hex = (bytes: Buffer): string => bytes.subarray(0, limits.messageBytes).toString('hex');
  return {
    transport,
    address: withoutSecrets(address).slice(0, limits.addressLength),
    ...(isClockBelieved && { at_ms: atMs }),
    ...(unitId !== undefined && { unit_id: unitId }),
    ...(durationMs !== undefined && { duration_ms: Math.round(durationMs) }),
    ...(shownSent && { sent: hex(shownSent) }),
    ...(shownReceived && { received: hex(shownReceived) }),
    ...(isCut && { is_cut: true }),
    ...(error !== undefined && { error: cutToBytes(withoutSecrets(error), 255) }),
  };
}

/** The bytes without secrets, still longer than what is kept where they were. */
function shownBytes(bytes: Uint8Array, transport: Exchange['transport'], limits: Limits['trace']): Buffer {
  const whole = Buffer.from(bytes);
  if (!TEXTUAL.has(transport) || !isUtf8(whole)) return whole;
  const searched = cutToBytes(whole.toString('utf8'), limits.messageBytes * SEARCHED);
  return Buffer.from(withoutSecrets(searched));
}

/** Collects the bytes of one exchange on a wire; what is sent again is an exchange of its own. */
export function beginExchange(
  note: NoteExchange,
  clock: Pick<Clock, 'wallMs' | 'monotonicMs'>,
  about: Pick<Exchange, 'transport' | 'address' | 'unitId'>,
): { onBytes: OnBytes; end: (error: string | undefined) => void } {
  const bytes: Record<'sent' | 'received', Buffer[]> = { sent: [], received: [] };
  let begun = { atMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
  const joined = (direction: 'sent' | 'received'): Buffer | undefined => {
    const parts = bytes[direction].splice(0);
    return parts.length === 0 ? undefined : Buffer.concat(parts);
  };
  const end = (error: string | undefined): void => {
    const durationMs = clock.monotonicMs() - begun.monotonicMs;
    note({
      ...about,
      atMs: begun.atMs,
      durationMs,
      sent: joined('sent'),
      received: joined('received'),
      error,
    });
  };
  return {
    onBytes: (direction, part) => {
      if (direction === 'sent') {
        if (bytes.sent.length > 0) end('no answer');
        else if (bytes.received.length > 0) end('answers no request');
        begun = { atMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
      }
      bytes[direction].push(part);
    },
    end,
  };
}

// HTTP as text. Values of headers are shown only where they are harmless: a login has many names.

const HARMLESS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'host',
  'server',
  'transfer-encoding',
  'user-agent',
]);

type Headers = readonly (readonly [name: string, value: string])[];

/** An HTTP message as text, without logins. @param first `GET /status`, or the status */
export function httpText(first: string, headers: Headers, body: Uint8Array | undefined): Uint8Array {
  const lines = headers.map(
    ([name, value]) => `${name}: ${HARMLESS.has(name.toLowerCase()) ? value : '"[removed]"'}`,
  );
  const isText = body === undefined || isUtf8(body);
  const shown = isText ? Buffer.from(body ?? []).toString('utf8') : `(${body.length} bytes that are no text)`;
  return Buffer.from([first, ...lines, '', shown].join('\n'));
}
