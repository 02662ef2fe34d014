/**
 * Messages by templates. Telemetry: one for each device and second, or for each attribute where the topic names it. Records:
 * one for each, as the HTTP interface shows it.
 */
import type { MqttMessage } from '../../../platform/mqtt-client/index.ts';
import type { LabelledRecord, LabelledSamples, MqttSettings } from '../model.ts';
import { jsonValue } from '../sample-text.ts';

/** A message, and how many samples it carries. */
export interface SampleMessage extends MqttMessage {
  samples: number;
  /** The same samples in two messages, for a broker that never accepts this one; absent for a single sample. */
  parts?: () => SampleMessage[];
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
        bySecond.getOrInsertComputed(timestampS, () => []).push(member);
      }
    const names = labelsOf(first);
    const messageOf = (timestampS: number, members: readonly string[]): SampleMessage => {
      const all = { ...names, timestamp: String(timestampS), values: `{${members.join(',')}}` };
      const parts = (): SampleMessage[] => {
        const middle = Math.ceil(members.length / 2);
        return [members.slice(0, middle), members.slice(middle)].map((half) => messageOf(timestampS, half));
      };
      return {
        topic: filledTemplate(topic, all),
        payload: filledTemplate(payload, all),
        isRetained,
        samples: members.length,
        ...(members.length > 1 && { parts }),
      };
    };
    for (const [timestampS, members] of [...bySecond].toSorted(([a], [b]) => a - b))
      yield messageOf(timestampS, members);
  }
}

function labelsOf({ labels, attribute }: LabelledSamples) {
  return {
    site: topicLevel(labels.site),
    device: topicLevel(labels.device),
    attribute: topicLevel(attribute),
  };
}

export const RECORDS_TOPIC = '{site}/{device}/{content}';
/** Stands for the device in topics of records without one. */
const NO_DEVICE = 'gateway';

export function* recordMessages(
  { recordsTopic = RECORDS_TOPIC, isRetained }: Pick<MqttSettings, 'recordsTopic' | 'isRetained'>,
  records: readonly LabelledRecord[],
): Generator<SampleMessage> {
  for (const { content, number, labels, body } of records)
    yield {
      topic: filledTemplate(recordsTopic, {
        site: topicLevel(labels.site),
        device: topicLevel(labels.device ?? NO_DEVICE),
        content: content.toLowerCase(),
      }),
      payload: JSON.stringify({ content, number, record: body }),
      isRetained,
      samples: 1,
    };
}

// Templates of topics and payloads: names in braces stand for values of a sample.

export const TEMPLATE_NAMES = ['site', 'device', 'attribute', 'timestamp', 'value', 'values'] as const;
/** Names in topics of records. */
export const RECORD_NAMES = ['site', 'device', 'content'] as const;
/** Names in topics of commands. */
export const SITE_NAMES = ['site'] as const;
type TemplateName = (typeof TEMPLATE_NAMES)[number] | (typeof RECORD_NAMES)[number];

const NAMES = /\{([a-z_]+)\}/g;

/** Names in braces that are not known. */
export function unknownNames(template: string, names: readonly string[] = TEMPLATE_NAMES): string[] {
  return [...template.matchAll(NAMES)]
    .map(([, name]) => name as string)
    .filter((name) => !names.includes(name));
}

export function filledTemplate(template: string, values: Partial<Record<TemplateName, string>>): string {
  return template.replaceAll(NAMES, (braced, name: string) => values[name as TemplateName] ?? braced);
}

/** A text as one level of a topic: separators and wildcards are replaced. */
export function topicLevel(text: string): string {
  return text.replaceAll(/[/+#\p{Cc}]/gu, '_');
}
