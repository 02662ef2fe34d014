/**
 * Command requests and responses between gateway and device. Source: docs/interface/mqtt-devices.md#commands.
 * Pure: nothing here knows an execution.
 */
import { cutToBytes } from '../lib/text.ts';
import { exactJson, unstorableNumber, writableJson } from '../lib/json.ts';

export const RESPONSE_STATES = ['STARTED', 'IN_PROGRESS', 'SUCCEEDED', 'ERROR'] as const;
export type ResponseState = (typeof RESPONSE_STATES)[number];

export interface CommandResponseMessage {
  /** Id of the execution that the device answers. */
  id: string;
  state: ResponseState;
  /** For JSON.stringify, which writes integers beyond 2^53 with all their digits. */
  payload: Record<string, unknown>;
  /** `payload` as JSON, at most `payloadBytes` long. */
  payloadText: string;
}

/** Words of devices, in lower case; every other word means progress and is kept in the payload. */
const STATE_OF_WORD: ReadonlyMap<string, ResponseState> = new Map([
  ['started', 'STARTED'],
  ['log', 'IN_PROGRESS'],
  ['in_progress', 'IN_PROGRESS'],
  ['completed', 'SUCCEEDED'],
  ['success', 'SUCCEEDED'],
  ['succeeded', 'SUCCEEDED'],
  ['error', 'ERROR'],
]);

/** Where older devices put the text of an error. */
const MESSAGE_KEYS = ['reason', 'error', 'traceback'] as const;
const NO_MESSAGE = 'The device reported an error without a message.';
/** Kept part of the message when a payload is too large. */
const KEPT_MESSAGE_BYTES = 4_096;

/**
 * Reads a response. The payload comes out as an object, whatever the device sent, with a text `message`
 * when the state is ERROR, because clients show it. Undefined: no id or no state, so nobody's answer.
 */
export function decodeCommandResponse(
  body: Record<string, unknown>,
  payloadBytes: number,
): CommandResponseMessage | undefined {
  const { id, state: word } = body;
  if (typeof id !== 'string' || typeof word !== 'string') return undefined;
  const known = STATE_OF_WORD.get(word.toLowerCase());
  const state = known ?? 'IN_PROGRESS';
  let payload = objectOf(body.payload);
  if (known === undefined) payload = { ...payload, state: cutToBytes(word, KEPT_MESSAGE_BYTES) };
  if (state === 'ERROR') payload = { ...payload, message: errorMessageOf(payload) };
  const payloadText = JSON.stringify(payload);
  const sizeBytes = Buffer.byteLength(payloadText);
  if (sizeBytes <= payloadBytes) return { id, state, payload, payloadText };
  const summary = { message: oversizeMessage(payload.message, sizeBytes) };
  return { id, state, payload: summary, payloadText: JSON.stringify(summary) };
}

function objectOf(payload: unknown): Record<string, unknown> {
  if (payload === undefined || payload === null) return {};
  if (typeof payload === 'object' && !Array.isArray(payload))
    return writableJson(unstorableNumber(payload) ? withTexts(payload) : payload) as Record<string, unknown>;
  return { message: textOf(payload) };
}

/** Numbers that JSON would change silently, such as 1e400, stand as texts: the answer of a device is shown, not dropped. */
function withTexts(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'bigint')
    return unstorableNumber(value) ? String(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withTexts);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withTexts(item)]));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : exactJson(value);
}

function errorMessageOf(payload: Record<string, unknown>): string {
  const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
  if (isGiven(payload.message)) return textOf(payload.message);
  const key = MESSAGE_KEYS.find((name) => isGiven(payload[name]));
  return key === undefined ? NO_MESSAGE : textOf(payload[key]);
}

function oversizeMessage(message: unknown, sizeBytes: number): string {
  const kept = typeof message === 'string' ? `${cutToBytes(message, KEPT_MESSAGE_BYTES)} ` : '';
  return `${kept}(The payload of ${sizeBytes} bytes was too large and was left out.)`;
}
