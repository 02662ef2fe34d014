/**
 * The one error that the gateway raises on purpose. Three families are never mixed: the caller's
 * fault and the world's fault are a `GatewayError`; our own fault is an `assert` and becomes
 * `internal_error` at the border.
 */
import type { Role } from './role.ts';
import type { DurationS } from './time.ts';

/** What went wrong in one word; `platform/http` owns the mapping to a status. */
export type ErrorKind =
  | 'invalid_argument'
  | 'unauthenticated'
  | 'permission_denied'
  | 'not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'conflict'
  | 'too_large'
  | 'unsupported_media_type'
  | 'unprocessable'
  | 'rate_limited'
  | 'internal'
  | 'unavailable'
  | 'timeout';

/** One entry of the wire's `errors` list (docs/interface/http.md#errors). */
export interface Problem {
  /** Stable snake_case identifier, listed in docs/errors.md. */
  code: string;
  /** One sentence for a person: what was wrong and what is allowed. */
  message: string;
  details?: Record<string, unknown>;
}

export class GatewayError extends Error {
  readonly kind: ErrorKind;
  /** Never empty; clients of the contract fail on an empty list. */
  readonly problems: readonly [Problem, ...Problem[]];
  /** For `rate_limited` and `unavailable`: whole seconds after which to try again. */
  readonly retryAfterS: DurationS | undefined;

  constructor(
    kind: ErrorKind,
    problems: readonly [Problem, ...Problem[]],
    options: { cause?: unknown; retryAfterS?: DurationS } = {},
  ) {
    super(problems[0].message, { cause: options.cause });
    this.name = 'GatewayError';
    this.kind = kind;
    this.problems = problems;
    this.retryAfterS = options.retryAfterS;
  }

  get code(): string {
    return this.problems[0].code;
  }
}

/**
 * The program cannot run, and starting it again changes nothing: a person must act, and the message says how.
 * It ends with the exit code for such cases, and the service manager leaves it stopped.
 */
export class UnrecoverableError extends Error {
  override name = 'UnrecoverableError';
}

/** Shorthand for the usual error with a single problem. */
export function gatewayError(
  kind: ErrorKind,
  code: string,
  message: string,
  details?: Record<string, unknown>,
  cause?: unknown,
): GatewayError {
  return new GatewayError(kind, [details ? { code, message, details } : { code, message }], { cause });
}

/** A list of problems as one error; `undefined` when there is none. */
export function errorOfProblems(kind: ErrorKind, problems: readonly Problem[]): GatewayError | undefined {
  const [first, ...rest] = problems;
  return first === undefined ? undefined : new GatewayError(kind, [first, ...rest]);
}

export function invalidBody(field: string, message: string, cause?: unknown): GatewayError {
  return gatewayError('invalid_argument', 'invalid_body', message, { field }, cause);
}

export function invalidQuery(parameter: string, message: string): GatewayError {
  return gatewayError('invalid_argument', 'invalid_query', message, { parameter });
}

export function insufficientRole(message: string, required: Role, actual: Role): GatewayError {
  return gatewayError('permission_denied', 'insufficient_role', message, { required, actual });
}

export function notFound(code: string, message: string): GatewayError {
  return gatewayError('not_found', code, message);
}

/** The value that was looked up. @throws GatewayError of this code (404) when there is none */
export function requireFound<Value>(code: string, message: string, value: Value | undefined): Value {
  if (value === undefined) throw notFound(code, message);
  return value;
}

/** For a request that is well formed and cannot be fulfilled here. */
export function unprocessable(
  code: string,
  message: string,
  details?: Record<string, unknown>,
  cause?: unknown,
): GatewayError {
  return gatewayError('unprocessable', code, message, details, cause);
}

/** For something that is taken, or that another operation prevents. */
export function conflict(code: string, message: string): GatewayError {
  return gatewayError('conflict', code, message);
}

/** For a failure that passes by itself, perhaps after a known time. */
export function unavailable(
  message: string,
  options: { cause?: unknown; retryAfterS?: DurationS } = {},
): GatewayError {
  return new GatewayError('unavailable', [{ code: 'unavailable', message }], options);
}

export function tooManyRequests(message: string, retryAfterS?: DurationS): GatewayError {
  const problem = { code: 'too_many_requests', message };
  return new GatewayError('rate_limited', [problem], retryAfterS === undefined ? {} : { retryAfterS });
}

/** For a value that must be unique and is taken. */
export function alreadyExists(message: string, field: string, value: string): GatewayError {
  return gatewayError('conflict', 'already_exists', message, { field, value });
}

/** @throws GatewayError of this code (422) when the limit is reached */
export function requireUnderLimit(code: string, message: string, count: number, limit: number): void {
  if (count >= limit) throw unprocessable(code, message, { limit });
}

/** The text of anything thrown, for a log field; never for a decision. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
