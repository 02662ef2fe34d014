/** A field by which one of many values is found. */
import { Search } from '../ui/search.tsx';
import { say } from '../words/index.ts';

/** Fewer values need no search. */
const FIND_FROM = 60;

interface Props {
  /** Number of all values. */
  count: number;
  text: string;
  onText: (text: string) => void;
}

export function FindValue({ count, text, onText }: Props) {
  if (count < FIND_FROM) return null;
  return (
    <div class="filter">
      <Search label={say.devices.findValue} text={text} onText={onText} />
    </div>
  );
}
