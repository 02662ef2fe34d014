/** Answers the requests of one route: checks, body, handler, then record, log and metrics. */
import { after } from '../../lib/after.ts';
import { GatewayError } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { type Answer, answerOf, errorAnswer, jsonAnswer } from './answer.ts';
import { handOver, remoteAddressOf, type RequestContext } from './exchange.ts';
import { parseBody, readText } from './parse.ts';
import type { Pipeline } from './pipeline.ts';
import type { Principal } from './principal.ts';
import type { Route } from './route.ts';
import { StreamedAnswer } from './streamed-answer.ts';

/** A change that was answered, for the record. */
export interface Answered {
  operation: string;
  /** Who called; undefined without a token. */
  principal: Principal | undefined;
  /** Path parameters, canonical if they were resolved, and what the handler noted. */
  params: Record<string, string>;
  status: number;
  remoteAddress: string;
}

export interface OperationOptions {
  clock: Clock;
  log: Log;
  /** Told of every operation that may change something before the answer goes out. Must not reject. */
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

/** What all operations share. */
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

  /** At once where the handler has nothing to wait for, and changes nothing. */
  answer(context: RequestContext): Response | Promise<Response> {
    const { clock } = this.#parts.options;
    const startedMs = clock.monotonicMs();
    return after(this.#answer(context), (answer) =>
      after(this.#isChange ? this.#record(context, answer.status) : undefined, () => {
        this.#tell(context, answer.status, clock.monotonicMs() - startedMs);
        return handOver(context, answer);
      }),
    );
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

  #answer(context: RequestContext): Answer | Promise<Answer> {
    const refuse = (error: unknown): Answer => {
      const refusal = errorAnswer(error);
      if (!(error instanceof GatewayError))
        this.#logFailure(error, context, refusal.status === 500 ? 'error' : 'warn');
      return refusal;
    };
    try {
      const answer = after(this.#handle(context), (result) =>
        after(this.#isChange ? this.#parts.options.durable?.() : undefined, () =>
          this.#answerOf(result, context),
        ),
      );
      return answer instanceof Promise ? answer.catch(refuse) : answer;
    } catch (error) {
      return refuse(error);
    }
  }

  #answerOf(result: unknown, context: RequestContext): Answer | Promise<Answer> {
    const onFailed = (error: unknown): void => this.#logFailure(error, context);
    if (result instanceof StreamedAnswer)
      return { status: 200, headers: { ...result.headers }, body: result.pieces, onFailed };
    if (result instanceof Response) return { ...answerOf(result), onFailed };
    return jsonAnswer(result === undefined ? {} : result, context.req.header('accept-encoding'));
  }

  #handle(context: RequestContext): unknown {
    const { bodyBytes = this.#parts.limits.jsonBodyBytes, body, readJson } = this.#route;
    const call = this.#parts.pipeline.prepare(context, this.#route, false);
    if (body === 'stream') call.streamBytesMax = bodyBytes;
    else if (body)
      return readText(context.req.raw, bodyBytes).then((text) => {
        call.body = parseBody(body, text, this.#parts.limits.jsonDepth, readJson);
        return this.#route.handle(call);
      });
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
