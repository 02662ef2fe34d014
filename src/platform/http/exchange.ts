/** One request with its connection, as the parts between the socket and a handler hand it on. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from 'hono';
import { gatewayError } from '../../lib/errors.ts';
import type { Role } from '../../lib/role.ts';
import type { Caller } from './callers.ts';

export interface Exchange {
  requestId: string;
  /** Absent without a socket. */
  incoming?: IncomingMessage;
  /** Absent without a socket, and for an upgrade. */
  outgoing?: ServerResponse;
  /** Origin of the request; set before anything else reads it. */
  caller?: Caller;
  /** The caller; undefined without a token. */
  principal?: Principal | undefined;
  /** Parameters of the resolved path, and notes of the handler. */
  params?: Record<string, string>;
  /** Set by a stream's route when the upgrade may go on. */
  verdict?: { open: RunStream; principal: Principal };
}
export type Environment = { Bindings: Exchange };
export type RequestContext = Context<Environment>;

/** Address of the caller, behind trusted proxies too. */
export function remoteAddressOf({ caller }: Exchange): string {
  return caller?.address ?? 'unknown';
}

/** The caller came over TLS, to the gateway or to a trusted proxy. */
export function isEncrypted({ caller }: Exchange): boolean {
  return caller?.isEncrypted === true;
}

/** Host header without its port; an IPv6 literal keeps no brackets. */
export function hostOf(header: string | undefined): string {
  if (header === undefined) return 'localhost';
  const bracketed = /^\[([^\]]+)\]/.exec(header);
  return bracketed?.[1] ?? header.replace(/:\d*$/, '');
}

/** Path and query of an absolute address that was normalized already. */
export function partsOf(url: string): { path: string; search: string } {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  const hash = url.indexOf('#', start);
  const end = hash < 0 ? url.length : hash;
  const mark = url.indexOf('?', start);
  if (mark < 0 || mark > end) return { path: url.slice(start, end), search: '' };
  return { path: url.slice(start, mark), search: url.slice(mark + 1, end) };
}

/** The request a WebSocket upgrade makes, as the routes see one. @throws GatewayError invalid_path (400) */
export function requestOfUpgrade(incoming: IncomingMessage): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? (value[0] ?? '') : value);
  const url = URL.parse(`http://gateway.invalid${incoming.url ?? ''}`);
  if (url?.host !== 'gateway.invalid')
    throw gatewayError('invalid_argument', 'invalid_path', 'The request line is not usable.');
  return new Request(url, { method: incoming.method ?? 'GET', headers });
}

/** RFC 9112 section 3.2: exactly one Host with HTTP/1.1, else the request may be meant for another server. */
export function requireHost(incoming: IncomingMessage | undefined): void {
  if (!incoming || incoming.httpVersion === '1.0') return;
  const { headers, rawHeaders } = incoming;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === 'host') count++;
  if (count === 1 && headers.host) return;
  throw gatewayError('invalid_argument', 'invalid_header', 'The request must have one Host header.', {
    header: 'Host',
  });
}

// The caller: the answer of the `authenticate` hook. Roles: docs/interface/http.md#roles.

/** A caller. */
export interface Principal {
  role: Role;
  /**
   * Name under which the call is recorded: a token, a user, a rule, a device's script, a target, or the anonymous role.
   */
  origin: {
    kind: 'token' | 'user' | 'rule' | 'device' | 'target' | 'anonymous';
    id: string;
    name: string;
  };
  /** Key of what is limited per caller: one for the sessions of a person, one for all its tokens. */
  rateKey: string;
  /** The token or session that the call came with; absent without one. */
  tokenId?: string;
}

// A WebSocket as capabilities see it, and what may be sent over it.

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
