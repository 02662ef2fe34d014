/**
 * What goes over the channel between the gateway and a child program. The payload of `data` belongs to
 * `protocol/`; the rest is ours. The first message in each direction carries the protocol's version.
 */
export type Payload = string | Uint8Array;

export type ToChild =
  | { kind: 'settings'; version: number; settings: unknown }
  | { kind: 'ping'; id: number }
  /** End in order. */
  | { kind: 'stop' }
  | { kind: 'data'; payload: Payload };

export type ToParent =
  | { kind: 'hello'; version: number }
  | { kind: 'pong'; id: number }
  | { kind: 'data'; payload: Payload };

/** Reads one message; undefined when it is none. Only the form is judged, not the payload. */
export function readMessage<Message extends ToChild | ToParent>(
  raw: unknown,
  kinds: readonly Message['kind'][],
): Message | undefined {
  if (typeof raw !== 'object' || raw === null || !('kind' in raw)) return undefined;
  if (!kinds.some((kind) => kind === raw.kind)) return undefined;
  if (raw.kind === 'data' && !('payload' in raw && isPayload(raw.payload))) return undefined;
  if ('version' in raw && typeof raw.version !== 'number') return undefined;
  return raw as Message;
}

function isPayload(value: unknown): value is Payload {
  return typeof value === 'string' || value instanceof Uint8Array;
}
