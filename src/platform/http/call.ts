/** A request as its handler gets it; values that few operations need are made on demand. */
import type { ServerResponse } from 'node:http';
import { unavailable } from '../../lib/errors.ts';
import {
  type Exchange,
  hostOf,
  isEncrypted,
  type Principal,
  remoteAddressOf,
  type RequestContext,
} from './exchange.ts';
import { boundedBody } from './parse.ts';
import { type Pieces, streamOf } from './responses.ts';

/** Stands for "no token" in operations that need none. */
const NOBODY: Principal = {
  role: 'READONLY',
  origin: { kind: 'anonymous', id: 'anonymous', name: 'anonymous' },
  rateKey: 'anonymous',
};

/** A request as its handler gets it: everything is checked already. */
export class Call<Query = unknown, Body = unknown> {
  readonly principal: Principal;
  readonly query: Query;
  body = {} as Body;
  /** Set for routes with `body: 'stream'`. */
  streamBytesMax: number | undefined;
  /** Called when a body that comes piece by piece fails. */
  onBodyFailed: (error: unknown) => void = () => undefined;
  readonly #context: RequestContext;
  readonly #params: Readonly<Record<string, string>>;
  readonly #stopping: AbortSignal;
  #signal: AbortSignal | undefined;

  constructor(context: RequestContext, query: Query, stopping: AbortSignal) {
    this.#context = context;
    this.#stopping = stopping;
    this.principal = this.#exchange.principal ?? NOBODY;
    this.#params = this.#exchange.params ?? {};
    this.query = query;
  }

  /** Whether the caller may read more than what needs no token: by a token, a login or the role of those without. */
  get isAdmitted(): boolean {
    return this.#exchange.principal !== undefined;
  }

  get #exchange(): Exchange {
    return this.#context.env;
  }

  /** Host that the caller asked for, without port, for addresses that go back to it. */
  get host(): string {
    return hostOf(this.#exchange.caller?.host ?? this.header('host'));
  }

  /** Whether pages of this origin are the gateway's own (docs/proxy.md). */
  isOwnOrigin(origin: string): boolean {
    return this.#exchange.caller?.isOwnOrigin(origin) === true;
  }

  /** The request came through a trusted proxy. */
  get isForwarded(): boolean {
    return this.#exchange.caller?.isForwarded === true;
  }

  /** Path parameter, canonical: resolvers have turned slugs into ids. Empty when the path has none of this name. */
  param(name: string): string {
    return this.#params[name] ?? '';
  }

  /** Header by its lower-case name. */
  header(name: string): string | undefined {
    return this.#context.req.header(name);
  }

  /** Sends one header as several lines, one per value; a `Response` can only join them by commas. */
  repeatHeader(name: string, values: readonly string[]): void {
    this.#exchange.outgoing?.setHeader(name, [...values]);
  }

  /** Raw body, bounded by `bodyBytes` of its route. */
  stream(): ReadableStream<Uint8Array> {
    if (this.streamBytesMax === undefined) throw new Error('only a route with body "stream" has one');
    return boundedBody(this.#context.req.raw, this.streamBytesMax);
  }

  /**
   * A good response whose body comes piece by piece. The source ends early when the caller goes away; when it fails, the
   * connection ends in the middle, so that the caller notices.
   */
  streamed(pieces: Pieces, headers: Record<string, string>): Response {
    const { outgoing } = this.#exchange;
    const body = streamOf(pieces, (error) => {
      if (!outgoing) throw error;
      if (outgoing.destroyed) return;
      this.onBodyFailed(error);
      outgoing.destroy();
    });
    return this.#context.body(body, 200, headers);
  }

  /** Aborted when the caller goes away or the gateway stops. It costs as much as a small answer. */
  get signal(): AbortSignal {
    if (this.#signal) return this.#signal;
    const { outgoing } = this.#exchange;
    const departure = outgoing ? departureOf(outgoing) : this.#context.req.raw.signal;
    return (this.#signal = AbortSignal.any([departure, this.#stopping]));
  }

  get requestId(): string {
    return this.#exchange.requestId;
  }

  get remoteAddress(): string {
    return remoteAddressOf(this.#exchange);
  }

  /** The caller came over TLS, to the gateway or to a trusted proxy. */
  get isEncrypted(): boolean {
    return isEncrypted(this.#exchange);
  }

  /** Says who the caller turned out to be, for what is recorded about the call: after a login. */
  identify(principal: Principal): void {
    this.#exchange.principal = principal;
  }

  /** Says what the call is about beyond its path, for what is recorded about it: names and ids, no secret. */
  note(target: Record<string, string>): void {
    this.#exchange.params = { ...this.#exchange.params, ...target };
  }
}

/** Aborted when the connection ends before the whole response was handed to it. */
function departureOf(outgoing: ServerResponse): AbortSignal {
  const departure = new AbortController();
  const leave = (): void => {
    if (!outgoing.writableFinished)
      departure.abort(unavailable('The caller went away before the answer was complete.'));
  };
  if (outgoing.destroyed) leave();
  else outgoing.once('close', leave);
  return departure.signal;
}
