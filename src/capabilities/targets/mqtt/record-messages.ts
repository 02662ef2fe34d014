/** Records as messages: one for each, as the HTTP interface shows it, with its content and number. */
import type { LabelledRecord, MqttSettings } from '../model.ts';
import type { SampleMessage } from './plain-messages.ts';
import { filledTemplate, topicLevel } from './templates.ts';

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
