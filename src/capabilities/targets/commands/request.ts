/** The wire format of a command that a target sends. */
import * as v from 'valibot';
import { gatewayError } from '../../../lib/errors.ts';
import { LIMITS } from '../../../lib/limits.ts';
import type { EpochMs } from '../../../lib/time.ts';
import { parseBody, shape } from '../../../platform/http/index.ts';
import { parseWritableJson } from '../../../lib/json.ts';
import { timestampMs } from '../wire-fields.ts';

const { commands: limits } = LIMITS.targets;
const { nameLength } = LIMITS.http;

export interface TargetRequest {
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
export function idIn(payload: Buffer): string | undefined {
  if (payload.length > limits.requestBytes) return undefined;
  try {
    const { id } = (JSON.parse(payload.toString('utf8')) ?? {}) as { id?: unknown };
    return typeof id === 'string' && id.length <= limits.requestIdLength ? id : undefined;
  } catch {
    return undefined;
  }
}
