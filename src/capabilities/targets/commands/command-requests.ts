/**
 * Commands that a target sends: each is executed once, never after its deadline, only for the selected devices and with the
 * selected role, and each gets an answer.
 *
 *   message ─▶ rate ─▶ known? its outcome again ─▶ retained, late, other device? refused ─▶ on disk ─▶ commands.execute
 *                                                                                                        │
 *                                       answer, until the broker has it ◀── outcome, on disk ◀───────────┘
 */
import * as v from 'valibot';
import {
  GatewayError,
  gatewayError,
  invalidBody,
  notFound,
  type Problem,
  tooManyRequests,
  unavailable,
  unprocessable,
} from '../../../lib/errors.ts';
import { parseWritableJson } from '../../../lib/json.ts';
import { LIMITS } from '../../../lib/limits.ts';
import { defined } from '../../../lib/members.ts';
import { type EpochMs, formatTimestamp, MINUTE_S } from '../../../lib/time.ts';
import { TokenBucket } from '../../../lib/token-bucket.ts';
import { parseBody, shape, statusOf } from '../../../platform/http/index.ts';
import { type Execution, executionToWire } from '../../commands/index.ts';
import type { Device } from '../../devices/index.ts';
import type { CommandSettings, RequestOutcome, TargetRecord } from '../model.ts';
import type { TargetParts } from '../parts.ts';
import { createRequestStore, type RememberedRequest } from '../store.ts';
import { timestampMs } from '../wire-fields.ts';

interface CommandRequestsOptions extends TargetParts {
  record: Pick<TargetRecord, 'id' | 'name'>;
  settings: CommandSettings;
  /** Resolves once the broker has the answer; rejects when it does not take it. */
  answer: (answer: object) => Promise<void>;
}

/** A refused request, as far as it could be read. */
type RefusedRequest = Partial<Pick<TargetRequest, 'device' | 'name'>> & { id: string | undefined };

/** A deleted execution has ended, too. */
const hasEnded = (execution: Execution | undefined): boolean =>
  !execution || !['NEW', 'IN_PROGRESS'].includes(execution.state);

const DAY_H = 24;

export class CommandRequests {
  readonly #options: CommandRequestsOptions;
  readonly #store;
  readonly #rate: TokenBucket;
  readonly #refusals: TokenBucket;
  /** Requests whose outcome is not known yet. */
  readonly #open = new Set<string>();
  /** Requests that were under way when the settings of the target changed. */
  readonly #begunBefore = new Set<string>();
  #isStopped = false;
  executed = 0;
  refused = 0;

  constructor(options: CommandRequestsOptions) {
    this.#options = options;
    const { clock, settings, limits } = options;
    const { burst, refusalBurst } = limits.commands;
    const nowMs = clock.monotonicMs();
    this.#rate = new TokenBucket(settings.perMinute / MINUTE_S, burst, nowMs);
    this.#refusals = new TokenBucket(1, refusalBurst, nowMs);
    this.#store = createRequestStore(options.database);
  }

  /** Resolves once the broker may forget the message: it is remembered on the disk, or refused. */
  async take({ payload, isRetained }: { payload: Buffer; isRetained: boolean }): Promise<void> {
    if (this.#isStopped) throw new Error('the target is closed: the broker sends it again');
    const nowMs = this.#options.clock.monotonicMs();
    const isInRate = this.#rate.take(nowMs);
    const again = isInRate ? undefined : this.#known(idIn(payload));
    if (again) {
      // A request that was executed must not be answered as if it was not.
      if (this.#refusals.take(nowMs)) void this.#tell(again);
      return;
    }
    let request: TargetRequest | undefined;
    try {
      if (!isInRate) throw this.#tooMany();
      request = parseRequest(payload);
      const known = this.#known(request.id);
      if (known) {
        void this.#tell(known);
        return;
      }
      this.#requireTimely(request, isRetained);
      const device = this.#named(request.device);
      this.#remember(request);
      // After a power cut the gateway must still know that it has executed the request.
      await this.#options.database.durable();
      if (!this.#isStopped) void this.#execute(device, request);
    } catch (error) {
      if (request) this.#open.delete(request.id);
      this.#refuse(request ?? { id: idIn(payload) }, error);
    }
  }

  /** Sends outcomes that the broker has not acknowledged, of earlier runs too. @throws MqttFailure */
  async answerWaiting(): Promise<void> {
    const { record, database } = this.#options;
    database.transaction(() => this.#forget());
    for (const { requestId } of this.#store.waiting(record.id)) {
      // It may have ended, and have been answered, meanwhile.
      const row = this.#store.find(record.id, requestId);
      if (row && !row.isTold) await this.#answerWith(row);
    }
  }

  /** Sends outcomes of requests that were open when the settings of the target changed. @throws MqttFailure */
  async answerEnded(): Promise<void> {
    for (const id of this.#begunBefore) {
      const row = this.#known(id);
      if (!row) this.#begunBefore.delete(id);
      else if (hasEnded(this.#executionOf(row))) await this.#answerWith(row);
    }
  }

  stop(): void {
    this.#isStopped = true;
  }

  #known(id: string | undefined): RememberedRequest | undefined {
    return id === undefined ? undefined : this.#store.find(this.#options.record.id, id);
  }

  #tooMany(): GatewayError {
    const { perMinute } = this.#options.settings;
    const message = `At most ${perMinute} requests are taken in a minute; nothing was done.`;
    return tooManyRequests(message);
  }

  /** @throws GatewayError request_retained (422), request_expired (422), invalid_body (400), unavailable (503) */
  #requireTimely({ expiresAtMs }: TargetRequest, isRetained: boolean): void {
    const { clock, limits } = this.#options;
    const { deadlineMs } = limits.commands;
    if (isRetained)
      throw unprocessable(
        'request_retained',
        'The broker kept this request for later: requests must not be retained.',
      );
    if (!clock.isSet()) throw unavailable('The gateway does not know the time yet.');
    const nowMs = clock.wallMs();
    if (expiresAtMs <= nowMs)
      throw unprocessable(
        'request_expired',
        `The request came after its deadline: it was ${formatTimestamp(nowMs)} here.`,
        { expires_at: formatTimestamp(expiresAtMs) },
      );
    if (expiresAtMs > nowMs + deadlineMs)
      throw invalidBody('expires_at', `Field "expires_at" must be within ${DAY_H} hours from now.`);
  }

  /** @throws GatewayError device_not_found (404), for a device that the target does not name too: whether it exists is not revealed */
  #named(name: string): Device {
    const { devices, settings } = this.#options;
    const device = devices.find(name);
    if (device && (settings.devices.includes(device.id) || settings.devices.includes(device.slug)))
      return device;
    throw notFound(
      'device_not_found',
      `No device "${name.slice(0, 64)}" is among those that may be commanded from here.`,
    );
  }

  /** @throws GatewayError too_many_requests (429), unavailable (503) */
  #remember({ id, expiresAtMs }: TargetRequest): void {
    const { record, database, limits } = this.#options;
    const row = { targetId: record.id, requestId: id, expiresAtMs, outcome: {}, isTold: false };
    const { remembered } = limits.commands;
    database.transaction(() => {
      if (this.#store.count(record.id) >= remembered) this.#forget();
      if (this.#store.count(record.id) >= remembered)
        throw tooManyRequests(`${remembered} requests have not passed their deadline yet; nothing was done.`);
      this.#store.insert(row);
    });
    this.#open.add(id);
  }

  /** Forgets requests past their deadline by proven time: with a clock that is ahead they could be executed again. */
  #forget(): void {
    const { record, clock, limits } = this.#options;
    const provenMs = clock.proven.nowMs();
    if (provenMs === undefined) return;
    const unansweredBeforeMs = provenMs - limits.commands.answerKeptMs;
    this.#store.removePast(record.id, { provenMs, unansweredBeforeMs });
  }

  /** Never rejects. */
  async #execute(device: Device, request: TargetRequest): Promise<void> {
    const { clock, commands, record, settings } = this.#options;
    const isWanted = (): boolean => clock.wallMs() < request.expiresAtMs;
    const origin = { kind: 'target' as const, id: record.id, name: record.name };
    try {
      this.#requireTimely(request, false);
      const running = await commands.execute(
        device,
        { name: request.name, arguments: request.arguments, ephemeral: false, isWanted },
        { role: settings.level, origin },
      );
      this.executed++;
      this.#note(request.id, { executionId: running.id });
      const answer = { id: request.id, execution: executionToWire(running.current()) };
      // This answer may be lost; that of the end is repeated until the broker acknowledges it.
      this.#options.answer(answer).catch(() => undefined);
      await running.ended;
    } catch (error) {
      this.refused++;
      this.#note(request.id, { errors: this.#problemsOf(error) });
    }
    this.#open.delete(request.id);
    if (this.#isStopped) return;
    await this.#tell(this.#store.find(record.id, request.id));
  }

  #note(id: string, outcome: RequestOutcome): void {
    const { database, log, record } = this.#options;
    if (this.#isStopped) return;
    try {
      database.transaction(() => this.#store.note(record.id, id, outcome));
    } catch (error) {
      log.warnLimited(`target-outcome:${record.id}`, 60_000, 'outcome of a request could not be stored', {
        target: record.name,
        error,
      });
    }
  }

  /** Never rejects. */
  async #tell(row: RememberedRequest | undefined): Promise<void> {
    // The next connection sends it again.
    if (row) await this.#answerWith(row).catch(() => undefined);
  }

  async #answerWith(row: RememberedRequest): Promise<void> {
    const { answer, database, record } = this.#options;
    const { requestId: id, outcome } = row;
    const execution = this.#executionOf(row);
    if (this.#open.has(id)) {
      if (execution) await answer({ id, execution: executionToWire(execution) });
      return;
    }
    if (execution && !hasEnded(execution)) {
      this.#begunBefore.add(id);
      await answer({ id, execution: executionToWire(execution) });
      return;
    }
    await answer(
      execution ? { id, execution: executionToWire(execution) } : { id, errors: outcome.errors ?? UNKNOWN },
    );
    this.#begunBefore.delete(id);
    if (!row.isTold && !this.#isStopped) database.transaction(() => this.#store.setAnswered(record.id, id));
  }

  #executionOf({ outcome }: RememberedRequest): Execution | undefined {
    return outcome.executionId === undefined ? undefined : this.#options.commands.find(outcome.executionId);
  }

  #refuse({ id, device, name }: RefusedRequest, error: unknown): void {
    const { audit, record, clock, answer } = this.#options;
    this.refused++;
    audit.recordAction({
      origin: { kind: 'target', id: record.id, name: record.name },
      operation: 'execute_command',
      target: defined({ request_id: id, device_id: device, command: name }),
      status: error instanceof GatewayError ? statusOf(error.kind) : 500,
    });
    const errors = this.#problemsOf(error);
    if (!this.#refusals.take(clock.monotonicMs())) return;
    // A sender that gets no answer sends the request again.
    answer({ ...(id !== undefined && { id }), errors }).catch(() => undefined);
  }

  #problemsOf(error: unknown): readonly Problem[] {
    if (error instanceof GatewayError) return error.problems;
    const { log, record } = this.#options;
    log.error('command of a target failed', { target: record.name, error });
    return [{ code: 'internal_error', message: 'The gateway failed at this request.' }];
  }
}

/** Answer to a request whose outcome was lost because the gateway ended. */
const UNKNOWN: readonly Problem[] = [
  {
    code: 'unavailable',
    message: 'The gateway was restarted meanwhile: what became of the request is not known.',
  },
];

// The wire format of a command that a target sends.

const { commands: limits } = LIMITS.targets;
const { nameLength } = LIMITS.http;

interface TargetRequest {
  /** Given by the sender: the same id is the same request. */
  id: string;
  /** Id or slug of the device. */
  device: string;
  name: string;
  arguments: Record<string, unknown>;
  expiresAtMs: EpochMs;
}

const text = (lengthMax: number) =>
  v.pipe(
    v.string(),
    v.minLength(1, 'must not be empty'),
    v.maxLength(lengthMax, `must have at most ${lengthMax} characters`),
  );

const requestBody = v.pipe(
  v.object({
    id: text(limits.requestIdLength),
    device_id: text(nameLength),
    name: text(nameLength),
    arguments: v.nullish(shape.anyNames({ value: 5 })),
    expires_at: timestampMs,
  }),
  v.transform((body): TargetRequest => ({
    id: body.id,
    device: body.device_id,
    name: body.name,
    arguments: body.arguments ?? {},
    expiresAtMs: Math.floor(body.expires_at),
  })),
);

/** @throws GatewayError invalid_body (400), payload_too_large (413) */
export function parseRequest(payload: Buffer): TargetRequest {
  if (payload.length > limits.requestBytes)
    throw gatewayError('too_large', 'payload_too_large', 'The request is too large.', {
      limit: limits.requestBytes,
    });
  return parseBody(requestBody, payload.toString('utf8'), LIMITS.http.jsonDepth, parseWritableJson);
}

/** The id of a payload that may be no valid request, so that the sender can match the answer. */
function idIn(payload: Buffer): string | undefined {
  if (payload.length > limits.requestBytes) return undefined;
  try {
    const { id } = (JSON.parse(payload.toString('utf8')) ?? {}) as { id?: unknown };
    return typeof id === 'string' && id.length <= limits.requestIdLength ? id : undefined;
  } catch {
    return undefined;
  }
}
