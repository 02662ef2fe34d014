/** A field by which one of many values is found. */
import { Input } from '../ui/form.tsx';
import { say } from '../words/index.ts';

/** Fewer are in sight, or nearly. */
const FIND_FROM = 60;

interface Props {
  /** Of all values. */
  count: number;
  text: string;
  onText: (text: string) => void;
}

export function FindValue({ count, text, onText }: Props) {
  if (count < FIND_FROM) return null;
  return (
    <div class="filter">
      <Input
        type="search"
        value={text}
        placeholder={say.devices.findValue}
        aria-label={say.devices.findValue}
        onValue={onText}
      />
    </div>
  );
}

/** Each word of what was typed is in it. */
export const isFound = (title: string, text: string): boolean =>
  text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => title.toLowerCase().includes(word));
