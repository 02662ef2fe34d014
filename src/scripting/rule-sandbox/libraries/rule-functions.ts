/** Host functions of the rule library. */
import { Buffer } from 'node:buffer';
import { type DurationMs, type MonotonicMs, parseDurationMs } from '../../../lib/time.ts';
import type { Limits } from '../../../lib/limits.ts';
import {
  bytesArgument,
  type HostFunction,
  type HostResult,
  type Jobs,
  LuaData,
  LuaError,
  LuaJson,
  type LuaTurn,
  type LuaValue,
  numberOf,
  offsetS,
  type ScriptClock,
  textOf,
  waiting,
} from '#scripting/lua';
import type {
  ReadRequest,
  RuleAnswer,
  RuleMethod,
  RuleRequest,
  SandboxSite,
} from '../../../protocol/rule-sandbox.ts';
import { notificationFault } from '../../../protocol/notification.ts';
import { storageKeyOf } from '../../../protocol/storage-key.ts';
import { parseExactJson } from '../../../lib/json.ts';
import type { JsonValue } from '../../../protocol/telemetry.ts';
import type { GatewayRequests } from '../requests.ts';
import { ReadAhead } from '../read-ahead.ts';
import type { RuleLog } from '../rule-log.ts';
import type { RuleTrace } from '../rule-trace.ts';

interface RuleFunctionsOptions {
  clock: ScriptClock;
  site: () => SandboxSite;
  limits: Limits['rules'];
  log: RuleLog;
  requests: GatewayRequests;
  trace: RuleTrace;
  jobs: () => Jobs;
}

export function createRuleFunctions(options: RuleFunctionsOptions): Record<string, HostFunction> {
  const { clock, site, limits, log, requests, trace } = options;
  const ahead = new ReadAhead({ clock, limits, ask: requests.sendAlong });

  /** A question that changes nothing, its parameters in order. */
  function read(
    [name, subject, detail, relevance]: LuaValue[],
    deadlineMs?: MonotonicMs,
    turn?: LuaTurn,
  ): Promise<HostResult> | HostResult {
    const method = textOf(name) as ReadRequest['method'];
    const first = textOf(subject) ?? '';
    const second = textOf(detail) ?? '';
    const relevanceMs = numberOf(relevance) ?? limits.relevanceMs;
    const request = (): ReadRequest => readRequest(method, first, second, relevanceMs);
    const answered = trace.asks(turn, request);
    const result = (answer: RuleAnswer): HostResult => {
      answered?.(answer);
      return method === 'latest' ? valueOf(answer) : resultOf(answer);
    };
    if (!turn) return requests.send(request(), deadlineMs).then(result);
    const key = `${method} ${relevanceMs} ${first.length} ${first} ${second}`;
    const answer = ahead.read({ key, request }, turn, deadlineMs);
    return answer instanceof Promise ? answer.then(result) : result(answer);
  }

  async function ask(
    [name, parameters]: LuaValue[],
    deadlineMs?: MonotonicMs,
    turn?: LuaTurn,
  ): Promise<HostResult> {
    const text = parameters instanceof LuaJson ? parameters.text : '{}';
    const request = completed(textOf(name) as RuleMethod, parseExactJson(text) as Parameters, limits);
    const answered = trace.asks(turn, () => request);
    const answer = await requests.send(request, deadlineMs);
    answered?.(answer);
    return resultOf(answer);
  }

  return {
    ask: waiting(ask),
    read: waiting(read),
    watch: waiting(watchFunction(options)),
    log: ([text, severity]) => {
      log.write(textOf(severity) ?? 'info', textOf(text) ?? '');
    },
    log_refusal: ([text]) => {
      log.repeatedWarning(textOf(text) ?? '');
    },
    duration: ([value]) => [durationMsOf(value)],
    zone_offset: () => [BigInt(Math.round(offsetS(clock.wallMs(), site().timeZone)))],
    storage_key: ([key]) => [storageKeyOf(bytesArgument(key, 1, 'storage'))],
    notification_fault: ([title, text, severity]) => [
      notificationFault(
        { title: textOf(title) ?? '', text: textOf(text) ?? '', severity: textOf(severity) ?? '' },
        limits,
      ),
    ],
    storage_fault: ([key, text]) => [storageFault(key, text, limits)],
  };
}

/** Makes a job that runs with each change of an attribute, or of the connectivity. */
function watchFunction({
  requests,
  trace,
  jobs,
}: RuleFunctionsOptions): (values: LuaValue[]) => Promise<HostResult> {
  return async ([deviceId, kind, name]) => {
    let isWatched = false;
    const id = jobs().open(() => {
      if (isWatched) void requests.send({ method: 'unwatch', parameters: { watchId } });
    }, true);
    const watchId = Number(id);
    const place = { deviceId: textOf(deviceId) ?? '', watchId };
    const parameters =
      textOf(kind) === 'connectivity'
        ? ({ ...place, kind: 'connectivity' } as const)
        : ({ ...place, kind: 'telemetry', name: textOf(name) ?? '' } as const);
    const answer = await requests.send({ method: 'watch', parameters });
    isWatched = answer.ok;
    if (answer.ok) {
      trace.watched(id, parameters.deviceId, parameters.kind === 'telemetry' ? parameters.name : undefined);
      return [id];
    }
    jobs().remove(id);
    return [undefined, answer.error];
  };
}

function resultOf(answer: RuleAnswer): HostResult {
  return answer.ok ? [new LuaData(answer.result)] : [undefined, answer.error];
}

/** The script gets the value alone. */
function valueOf(answer: RuleAnswer): HostResult {
  return answer.ok ? [new LuaData((answer.result as { value: JsonValue }).value)] : [undefined, answer.error];
}

function readRequest(
  method: ReadRequest['method'],
  first: string,
  second: string,
  relevanceMs: DurationMs,
): ReadRequest {
  switch (method) {
    case 'find_device':
      return { method, parameters: { idOrSlug: first } };
    case 'device_online':
    case 'device_profiles':
      return { method, parameters: { deviceId: first } };
    case 'property':
      return { method, parameters: { deviceId: first, name: second } };
    case 'latest':
      return { method, parameters: { deviceId: first, name: second, relevanceMs } };
  }
}

type Parameters = Record<string, unknown>;

/** A duration text or a number of milliseconds, as far as numbers cross exactly; undefined for anything else. */
function durationMsOf(value: LuaValue): number | undefined {
  const durationMs = numberOf(value) ?? parseDurationMs(textOf(value) ?? '');
  if (durationMs === undefined || !(durationMs >= 0) || !Number.isFinite(durationMs)) return undefined;
  return Math.min(durationMs, Number.MAX_SAFE_INTEGER);
}

function storageFault(key: LuaValue, text: LuaValue, limits: Limits['rules']): string | undefined {
  if (!Buffer.isBuffer(key) || !Buffer.isBuffer(text)) throw new LuaError('a text was expected');
  if (key.length > limits.storageKeyBytes) return `the key is longer than ${limits.storageKeyBytes} bytes`;
  return text.length > limits.storageValueBytes
    ? `the value is larger than ${limits.storageValueBytes} bytes`
    : undefined;
}

/** Fills in defaults and applies bounds. */
function completed(method: RuleMethod, parameters: Parameters, limits: Limits['rules']): RuleRequest {
  const request: Parameters = { ...parameters };
  if (method === 'aggregate') request.windowMs = Math.min(Number(request.windowMs), limits.averageMaxMs);
  if (method === 'output_request') request.arguments ??= null;
  if (method === 'output_release') request.output ??= null;
  if (method === 'execute') request.timeoutMs ??= limits.commandTimeoutMs;
  return { method, parameters: request } as RuleRequest;
}
