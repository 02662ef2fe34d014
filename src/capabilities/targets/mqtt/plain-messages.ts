/** Telemetry as messages by templates: one for each device and second, or for each attribute where the topic names it. */
import type { MqttMessage } from '../../../platform/mqtt-client/index.ts';
import type { LabelledSamples, MqttSettings } from '../model.ts';
import { filledTemplate, jsonValue, topicLevel } from './templates.ts';

/** A message, and how many samples it carries. */
export interface SampleMessage extends MqttMessage {
  samples: number;
}

export function* plainMessages(
  { topic, payload, isRetained }: Pick<MqttSettings, 'topic' | 'payload' | 'isRetained'>,
  series: readonly LabelledSamples[],
): Generator<SampleMessage> {
  if (!topic.includes('{attribute}')) yield* deviceMessages({ topic, payload, isRetained }, series);
  else
    for (const samples of series) {
      const names = labelsOf(samples);
      for (const [index, timestampS] of samples.times.entries()) {
        const all = { ...names, timestamp: String(timestampS), value: jsonValue(samples, index) };
        yield {
          topic: filledTemplate(topic, all),
          payload: filledTemplate(payload, all),
          isRetained,
          samples: 1,
        };
      }
    }
}

function* deviceMessages(
  { topic, payload, isRetained }: { topic: string; payload: string; isRetained: boolean },
  series: readonly LabelledSamples[],
): Generator<SampleMessage> {
  for (const ofDevice of Map.groupBy(series, ({ deviceId }) => deviceId).values()) {
    const [first] = ofDevice;
    if (!first) continue;
    const bySecond = new Map<number, string[]>();
    for (const samples of ofDevice)
      for (const [index, timestampS] of samples.times.entries()) {
        const member = `${JSON.stringify(samples.attribute)}:${jsonValue(samples, index)}`;
        const known = bySecond.get(timestampS);
        if (known) known.push(member);
        else bySecond.set(timestampS, [member]);
      }
    const names = labelsOf(first);
    for (const [timestampS, members] of [...bySecond].toSorted(([a], [b]) => a - b)) {
      const all = { ...names, timestamp: String(timestampS), values: `{${members.join(',')}}` };
      yield {
        topic: filledTemplate(topic, all),
        payload: filledTemplate(payload, all),
        isRetained,
        samples: members.length,
      };
    }
  }
}

function labelsOf({ labels, attribute }: LabelledSamples) {
  return {
    site: topicLevel(labels.site),
    device: topicLevel(labels.device),
    attribute: topicLevel(attribute),
  };
}
