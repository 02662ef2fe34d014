/**
 * What goes over the channel between the gateway and a child program. The payloads of `data`, those of
 * one turn together, belong to `protocol/`; the rest is ours. The first message in each direction carries the protocol's version.
 */
export type Payload = string | Uint8Array;

export type ToChild =
  | { kind: 'settings'; version: number; settings: unknown }
  | { kind: 'ping'; id: number }
  /** End in order. */
  | { kind: 'stop' }
  | { kind: 'data'; payloads: readonly Payload[] };

export type ToParent =
  | { kind: 'hello'; version: number }
  | { kind: 'pong'; id: number }
  | { kind: 'data'; payloads: readonly Payload[] };

/** Reads one message; undefined when it is none. Only the form is judged, not the payload. */
export function readMessage<Message extends ToChild | ToParent>(
  raw: unknown,
  kinds: readonly Message['kind'][],
): Message | undefined {
  if (typeof raw !== 'object' || raw === null || !('kind' in raw)) return undefined;
  if (!kinds.some((kind) => kind === raw.kind)) return undefined;
  if (raw.kind === 'data' && !('payloads' in raw && arePayloads(raw.payloads))) return undefined;
  if ('version' in raw && typeof raw.version !== 'number') return undefined;
  return raw as Message;
}

function arePayloads(value: unknown): value is Payload[] {
  return (
    Array.isArray(value) && value.every((each) => typeof each === 'string' || each instanceof Uint8Array)
  );
}
