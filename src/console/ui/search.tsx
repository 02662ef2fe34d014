/** Finding one of many by what is typed. */
import { Input } from './form.tsx';

interface Props {
  /** Name of the searched things. */
  label: string;
  text: string;
  onText: (text: string) => void;
}

/** A field that says in itself what it finds. */
export function Search({ label, text, onText }: Props) {
  return <Input type="search" value={text} placeholder={label} aria-label={label} onValue={onText} />;
}
