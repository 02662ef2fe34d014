/**
 * The one error that the gateway raises on purpose. Three families are never mixed: the caller's
 * fault and the world's fault are a `GatewayError`; our own fault is an `assert` and becomes
 * `internal_error` at the border.
 */
import type { Role } from './role.ts';
import type { DurationS } from './time.ts';

/** Kind of an error in one word; `platform/http` owns the mapping to a status. */
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

/** For what leaves the box, while that is a restored copy that sends nothing. */
export function inRehearsal(): GatewayError {
  return conflict(
    'in_rehearsal',
    'This gateway rehearses a restored backup: it sends nothing until an owner ends the rehearsal.',
  );
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

// Why a connection to a server failed, as a sentence that says what a person can do. Pure.

interface ServerAddress {
  /** With port. */
  host: string;
  hostname: string;
}

const SENTENCES: Readonly<Record<string, (server: ServerAddress) => string>> = {
  ECONNREFUSED: ({ host }) => `Nothing listens at ${host}.`,
  ENOTFOUND: ({ hostname }) => `No address is known of the name ${hostname}.`,
  EDNS: ({ hostname }) => `No address is known of the name ${hostname}.`,
  EAI_AGAIN: ({ hostname }) => `The name server did not answer for ${hostname}.`,
  EHOSTUNREACH: ({ host }) => `There is no way through the network to ${host}.`,
  ENETUNREACH: ({ host }) => `There is no way through the network to ${host}.`,
  ETIMEDOUT: ({ host }) => `${host} did not answer.`,
  ECONNRESET: ({ host }) => `${host} ended the connection before it had answered.`,
  EPIPE: ({ host }) => `${host} ended the connection before it had answered.`,
  ERR_TLS_CERT_ALTNAME_INVALID: ({ hostname }) =>
    `The certificate of the server is not for the name ${hostname}.`,
  CERT_HAS_EXPIRED: ({ host }) => `The certificate of ${host} has expired.`,
  CERT_NOT_YET_VALID: ({ host }) => `The certificate of ${host} is not valid yet: is the clock right?`,
  EPROTO: ({ host }) => `${host} does not speak TLS on this port.`,
};

const UNTRUSTED = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

const CERTIFICATE = /CERT|ALTNAME/;

/**
 * Undefined when the code of the error is not known here.
 * @param ownAuthority what to do about a certificate of an authority that the system does not know
 */
export function connectionFailure(
  error: unknown,
  server: ServerAddress,
  ownAuthority = '',
): string | undefined {
  const code = codeOf(error);
  if (code === undefined) return undefined;
  // The fault is in what the person gave: nothing was sent yet.
  if (code.startsWith('ERR_OSSL'))
    return `The certificate or the private key given for ${server.host} cannot be used; they must be whole, in PEM, of each other, and the key without a password.`;
  if (UNTRUSTED.has(code))
    return `The certificate of ${server.host} is of an authority that is not trusted here${ownAuthority}.`;
  if (code.startsWith('ERR_SSL')) return SENTENCES['EPROTO']?.(server);
  const sentence = SENTENCES[code]?.(server);
  if (sentence !== undefined || !CERTIFICATE.test(code)) return sentence;
  return `The certificate of ${server.host} is not one to trust (${code}).`;
}

/** The innermost code: libraries wrap the error of the system. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const inner = codeOf(error.cause);
  if (inner !== undefined) return inner;
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
