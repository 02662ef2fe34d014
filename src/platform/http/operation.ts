/** Answers the requests of one route: checks, body, handler, then record, log and metrics. */
import { GatewayError } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { type Principal, remoteAddressOf, type RequestContext } from './exchange.ts';
import { parseBody, readText } from './parse.ts';
import type { Pipeline } from './pipeline.ts';
import { errorResponse, jsonResponse } from './responses.ts';
import type { Route } from './route.ts';

/** A change that was answered, for the record. */
export interface Answered {
  operation: string;
  /** The caller; undefined without a token. */
  principal: Principal | undefined;
  /** Path parameters, canonical if they were resolved, and what the handler noted. */
  params: Record<string, string>;
  status: number;
  remoteAddress: string;
}

export interface OperationOptions {
  clock: Clock;
  log: Log;
  /** Called with every operation that may have changed something, before the answer is sent. Must not reject. */
  onAnswered?: (answered: Answered) => Promise<void>;
  /**
   * Resolves once everything that was stored so far is synced to the disk: a change is not answered before. Rejects
   * when the disk refuses. Default: at once.
   */
  durable?: () => Promise<void>;
}

/** How long operations take, by name and status. */
export function operationDurations(metrics: Metrics) {
  return metrics.histogram(
    'http_request_duration_seconds',
    'Time to answer a request.',
    [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    ['operation', 'status'],
  );
}
type Durations = ReturnType<typeof operationDurations>;

/** Parts shared by all operations. */
interface OperationParts {
  options: OperationOptions;
  limits: Pick<Limits['http'], 'jsonBodyBytes' | 'jsonDepth'>;
  pipeline: Pipeline;
  durations: Durations;
}

export class Operation {
  readonly #parts: OperationParts;
  readonly #route: Route;
  readonly #isChange: boolean;
  readonly #byStatus = new Map<number, ReturnType<Durations['labels']>>();

  constructor(route: Route, parts: OperationParts) {
    this.#route = route;
    this.#parts = parts;
    this.#isChange = route.method !== 'GET' && route.isReading !== true;
  }

  async answer(context: RequestContext): Promise<Response> {
    const { clock } = this.#parts.options;
    const startedMs = clock.monotonicMs();
    const response = await this.#respond(context);
    if (this.#isChange) await this.#record(context, response.status);
    this.#tell(context, response.status, clock.monotonicMs() - startedMs);
    return response;
  }

  #record(context: RequestContext, status: number): Promise<void> | undefined {
    const { env } = context;
    return this.#parts.options.onAnswered?.({
      operation: this.#route.operation,
      principal: env.principal,
      params: env.params ?? context.req.param(),
      status,
      remoteAddress: remoteAddressOf(env),
    });
  }

  async #respond(context: RequestContext): Promise<Response> {
    try {
      const result = await this.#handle(context);
      if (this.#isChange) await this.#parts.options.durable?.();
      if (result instanceof Response) return result;
      return await jsonResponse(result ?? {}, context.req.header('accept-encoding'));
    } catch (error) {
      const refusal = errorResponse(error);
      if (!(error instanceof GatewayError))
        this.#logFailure(error, context, refusal.status === 500 ? 'error' : 'warn');
      return refusal;
    }
  }

  async #handle(context: RequestContext): Promise<unknown> {
    const { bodyBytes = this.#parts.limits.jsonBodyBytes, body, readJson } = this.#route;
    const call = this.#parts.pipeline.prepare(context, this.#route, false);
    call.onBodyFailed = (error) => this.#logFailure(error, context);
    if (body === 'stream') call.streamBytesMax = bodyBytes;
    else if (body) {
      const text = await readText(context.req.raw, bodyBytes);
      call.body = parseBody(body, text, this.#parts.limits.jsonDepth, readJson);
    }
    return this.#route.handle(call);
  }

  /** Reads succeed thousands of times a day and would wear the card; changes and failures are worth a line. */
  #tell(context: RequestContext, status: number, durationMs: DurationMs): void {
    const { method, operation } = this.#route;
    let duration = this.#byStatus.get(status);
    if (!duration)
      this.#byStatus.set(status, (duration = this.#parts.durations.labels(operation, String(status))));
    duration.observe(durationMs / 1_000);
    const level = !this.#isChange && status < 400 ? 'debug' : 'info';
    this.#parts.options.log[level]('request', {
      method,
      path: context.req.path,
      operation,
      status,
      duration_ms: Math.round(durationMs * 10) / 10,
      request_id: context.env.requestId,
      origin: context.env.principal?.origin.id,
    });
  }

  #logFailure(error: unknown, context: RequestContext, level: 'error' | 'warn' = 'error'): void {
    this.#parts.options.log[level]('request failed', {
      error,
      operation: this.#route.operation,
      request_id: context.env.requestId,
    });
  }
}
