/** What a handler gets of one request; what few operations ask for is made when it is asked for. */
import { departureOf } from './departure.ts';
import { type Exchange, hostOf, isEncrypted, remoteAddressOf, type RequestContext } from './exchange.ts';
import { boundedBody } from './parse.ts';
import type { Principal } from './principal.ts';
import type { Call } from './route.ts';

/** Stands for "no token" in operations that need none. */
const NOBODY: Principal = {
  role: 'READONLY',
  origin: { kind: 'anonymous', id: 'anonymous', name: 'anonymous' },
  rateKey: 'anonymous',
};

export class HttpCall implements Call {
  readonly principal: Principal;
  readonly params: Record<string, string>;
  readonly query: unknown;
  body: unknown = {};
  /** Set for routes with `body: 'stream'`. */
  streamBytesMax: number | undefined;
  readonly #context: RequestContext;
  readonly #stopping: AbortSignal;
  #signal: AbortSignal | undefined;

  constructor(context: RequestContext, query: unknown, stopping: AbortSignal) {
    this.#context = context;
    this.#stopping = stopping;
    this.principal = this.#exchange.principal ?? NOBODY;
    this.params = this.#exchange.params ?? {};
    this.query = query;
  }

  get #exchange(): Exchange {
    return this.#context.env;
  }

  get host(): string {
    return hostOf(this.header('host'));
  }

  header(name: string): string | undefined {
    return this.#context.req.header(name);
  }

  repeatHeader(name: string, values: readonly string[]): void {
    this.#exchange.outgoing?.setHeader(name, [...values]);
  }

  stream(): ReadableStream<Uint8Array> {
    if (this.streamBytesMax === undefined) throw new Error('only a route with body "stream" has one');
    return boundedBody(this.#context.req.raw, this.streamBytesMax);
  }

  /** It costs as much as a small answer. */
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

  get isEncrypted(): boolean {
    return isEncrypted(this.#exchange);
  }

  identify(principal: Principal): void {
    this.#exchange.principal = principal;
  }

  note(target: Record<string, string>): void {
    this.#exchange.params = { ...this.#exchange.params, ...target };
  }
}
