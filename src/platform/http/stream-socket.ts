/** A WebSocket as capabilities see it, and what may be sent over it. */

/** A value of a shape as it may be sent: the same, read-only. */
export type Wire<Value> = Value extends readonly (infer Item)[]
  ? readonly Wire<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: Wire<Value[Name]> }
    : Value;

/** One side of a WebSocket as a capability sees it: outgoing only, bounded by the platform. */
export interface StreamSocket<Message = unknown> {
  /** Sends one JSON text frame; a reader too slow for the queue is closed with 1013. */
  readonly send: (message: Wire<Message>) => void;
  /** Close codes of docs/interface/http.md#streams. */
  close(code: 1000 | 1001 | 1008 | 1011 | 1013, reason: string): void;
}

/** Runs on an open socket; returns what is to be called once it is closed, by whomever. */
export type RunStream<Message = unknown> = (socket: StreamSocket<Message>) => readonly (() => void)[];
