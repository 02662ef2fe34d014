/** Answers requests of dry runs (protocol/dry-run.ts): those of rules, and those for recorded telemetry. */
import { writableArguments } from '../../lib/json.ts';
import { RULE_ROLE } from '../../lib/role.ts';
import type { RecordedRequest, RuleAnswer } from '../../protocol/rule-sandbox.ts';
import type { RecordedMethods, RecordedResults, RecordedSample } from '../../protocol/dry-run.ts';
import type { JsonValue } from '../../protocol/telemetry.ts';
import type { SampleStretch } from '../telemetry/index.ts';
import type { ReadSeries } from './model.ts';
import {
  aggregateOf,
  answering,
  type CallMethod,
  type CallingRule,
  attributeOf,
  deviceOf,
  type MethodsOptions,
} from './methods.ts';

/** Answers a request of a dry run from recorded telemetry, and calls `onRead` with the series. */
export type CallRecordedMethod = (
  rule: CallingRule,
  request: RecordedRequest,
  onRead: (series: ReadSeries) => void,
) => Promise<RuleAnswer>;

/** `callMethod` answers the requests that rules make, too. */
export function createRecordedMethods(options: MethodsOptions, callMethod: CallMethod): CallRecordedMethod {
  return async (rule, request, onRead) => {
    const { method, parameters } = request;
    switch (method) {
      case 'samples':
        return answering(() => samples(options, parameters, onRead));
      case 'aggregate_at':
        return answering(async () => {
          const value = await aggregateOf(options, parameters, parameters.endMs);
          const { deviceId, name } = parameters;
          const attribute = attributeOf(options, deviceOf(options, parameters), name);
          onRead({ deviceId, attribute });
          return value;
        });
      case 'check_command':
        return answering(async () => {
          const { name, arguments: given } = parameters;
          const request = { name, arguments: writableArguments(given), ephemeral: false, isFromLua: true };
          options.commands.check(deviceOf(options, parameters), request, RULE_ROLE);
          return null;
        });
      case 'check_output':
        return answering(async () => options.outputs.check(deviceOf(options, parameters), parameters));
      default:
        return callMethod(rule, request);
    }
  };
}

async function samples(
  options: MethodsOptions,
  { deviceId, name, afterMs, toMs }: RecordedMethods['samples'],
  onRead: (series: ReadSeries) => void,
): Promise<JsonValue> {
  const device = deviceOf(options, { deviceId });
  const attribute = attributeOf(options, device, name);
  onRead({ deviceId, attribute });
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
