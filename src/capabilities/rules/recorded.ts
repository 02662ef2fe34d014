/** What dry runs ask the gateway (protocol/dry-run.ts): facts as rules do, and what was recorded. */
import type { DryRunQuestion, RuleAnswer } from '../../protocol/rule-sandbox.ts';
import type { RecordedQuestions, RecordedResults, RecordedSample } from '../../protocol/dry-run.ts';
import type { JsonValue } from '../../protocol/telemetry.ts';
import type { SampleStretch } from '../telemetry/index.ts';
import {
  aggregateOf,
  answering,
  type Ask,
  type AskingRule,
  attributeOf,
  deviceOf,
  type QuestionsOptions,
  RULE_ROLE,
} from './questions.ts';

export type AskRecorded = (rule: AskingRule, question: DryRunQuestion) => Promise<RuleAnswer>;

/** `ask` answers what rules ask as well. */
export function createRecordedQuestions(options: QuestionsOptions, ask: Ask): AskRecorded {
  return async (rule, question) => {
    const { method, parameters } = question;
    switch (method) {
      case 'samples':
        return answering(() => samples(options, parameters));
      case 'aggregate_at':
        return answering(() => aggregateOf(options, parameters, parameters.endMs));
      case 'check_command':
        return answering(async () => {
          const { name, arguments: given } = parameters;
          const request = { name, arguments: given, ephemeral: false };
          options.commands.check(deviceOf(options, parameters), request, RULE_ROLE);
          return null;
        });
      default:
        return ask(rule, question);
    }
  };
}

async function samples(
  options: QuestionsOptions,
  { deviceId, name, afterMs, toMs }: RecordedQuestions['samples'],
): Promise<JsonValue> {
  const device = deviceOf(options, { deviceId });
  const attribute = attributeOf(options, device, name);
  const afterS = Math.floor(afterMs / 1_000);
  const stretch = await options.telemetry.samples(
    device,
    attribute,
    afterS + 1,
    Math.floor(toMs / 1_000) + 1,
  );
  const sampleOf = ({ timestampS, value }: SampleStretch['samples'][number]): RecordedSample => [
    timestampS * 1_000,
    value,
  ];
  return {
    before: stretch.before ? sampleOf(stretch.before) : null,
    samples: stretch.samples.map(sampleOf),
    isComplete: stretch.isComplete,
  } satisfies RecordedResults['samples'];
}
