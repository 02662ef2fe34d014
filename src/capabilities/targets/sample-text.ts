/** Values of samples as texts of targets. */
import { exactJson } from '../../lib/json.ts';
import type { LabelledSamples } from './model.ts';

/** The value at an index; numbers and booleans as JSON, texts as the target writes them. */
export function writtenValue(
  { type, numbers, integers, texts }: LabelledSamples,
  index: number,
  writeText: (text: string) => string,
): string {
  const value = numbers[index] as number;
  if (type === 'boolean') return value === 1 ? 'true' : 'false';
  if (type === 'float' || type === 'integer')
    return integers && !Number.isSafeInteger(value) ? String(integers[index]) : String(value);
  return writeText(texts[value] as string);
}

/** The value at an index as JSON. */
export function jsonValue(samples: LabelledSamples, index: number): string {
  return writtenValue(samples, index, samples.type === 'string' ? exactJson : asIs);
}

const asIs = (text: string): string => text;
