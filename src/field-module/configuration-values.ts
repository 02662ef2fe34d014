/** Configuration values as JSON has them, and the answer to a question about them. Pure. */
import { exactJson } from '../lib/json.ts';
import type { Question, QuestionAnswer } from './thread-messages.ts';

/** The same text for the same values; the order of parameters means nothing. */
export function canonicalValues(values: Record<string, unknown> | undefined): string {
  return exactJson(values === undefined ? [] : Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Where no script answers, values that are to be written go through, and values that are stored count. */
export function noAnswer({ type, id }: Question): QuestionAnswer {
  return { type: type === 'configuration_check' ? 'configuration_verdict' : 'configuration_values', id };
}
