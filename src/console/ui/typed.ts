/** What is typed into forms; apart from them, because the first view has none of it. */
import { useState } from 'preact/hooks';
import { changesOf } from '../changes.ts';
import { say } from '../words/index.ts';

/** Each part as a whole. */
const otherParts = <Typed extends object>(one: Typed, other: Typed): Partial<Typed> =>
  changesOf(
    { ...one } as Record<string, unknown>,
    { ...other } as Record<string, unknown>,
    0,
  ) as Partial<Typed>;

/** What is typed into the controls of a form, over what was there `before`; `bound` ties one to the part of its name. */
export function useTyped<Typed extends object>(initial: () => Typed) {
  const [typed, setTyped] = useState(initial);
  const [before, base] = useState(typed);
  /** It is stored now. */
  const take = (stored: Typed): void => {
    base(stored);
    setTyped(stored);
  };
  /**
   * What is typed, beside what others have stored meanwhile. What both have changed is sent only when somebody was told and
   * sends it again. @throws Error
   */
  const beside = (stored: Typed): Typed => {
    const mine = otherParts(before, typed);
    const differs = otherParts(stored, { ...stored, ...mine });
    const isLost = Object.keys(otherParts(before, stored)).some((name) => name in differs);
    const joined = { ...stored, ...mine };
    base(stored);
    setTyped(joined);
    if (isLost) throw new Error(say.everywhere.changedMeanwhile);
    return joined;
  };
  const change = (part: Partial<Typed>): void => setTyped((before) => ({ ...before, ...part }));
  const bound = <Name extends keyof Typed & string>(name: Name) => ({
    name: name as string,
    value: typed[name],
    onValue: (value: Typed[Name]) => change({ [name]: value } as unknown as Partial<Typed>),
  });
  return { typed, before, take, beside, setTyped, change, bound };
}
