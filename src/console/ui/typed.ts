/** The input of forms. A file of its own, because the first view has no such form. */
import { useEffect, useState } from 'preact/hooks';
import { call, callFor, path } from '../api.ts';
import { changesOf } from '../changes.ts';
import { useAction } from './requests.ts';
import { say } from '../words/index.ts';

interface ItemForm<Stored, Typed> {
  /** Address of the list. */
  address: string;
  /** The item; undefined: a new one. */
  stored: Stored | undefined;
  typedOf: (stored: Stored | undefined) => Typed;
  /** The body for the input. */
  bodyOf: (typed: Typed, stored: Stored | undefined) => Record<string, unknown>;
  onDone: () => void;
}

/** The form of an item in a list of the API, or of a new one. Of an existing item only the changes are sent. */
export function useItemForm<Stored extends { id: string }, Typed extends object>({
  address,
  stored,
  typedOf,
  bodyOf,
  onDone,
}: ItemForm<Stored, Typed>) {
  const controls = useTypedOver(typedOf(stored));
  const action = useAction(async () => {
    if (stored) {
      const listed = await callFor<Stored[]>(address.split('/').at(-1) ?? '', 'GET', address);
      const present = listed.find(({ id }) => id === stored.id) ?? stored;
      const theirs = typedOf(present);
      const changes = changesOf(bodyOf(theirs, present), bodyOf(controls.beside(theirs), present));
      await call('PATCH', `${address}${path`/${stored.id}`}`, changes);
    } else await call('POST', address, bodyOf(controls.typed, undefined));
    onDone();
  });
  return { controls, action };
}

/** Each part as a whole. */
const otherParts = <Typed extends object>(one: Typed, other: Typed): Partial<Typed> =>
  changesOf(
    { ...one } as Record<string, unknown>,
    { ...other } as Record<string, unknown>,
    0,
  ) as Partial<Typed>;

/**
 * The input of a form over stored values: a field without input follows changes of others.
 * @param answer the answer with the stored values. After a save the next one is followed even if it equals the one before,
 * as when another has taken the change back
 */
export function useTypedOver<Typed extends object>(stored: Typed, answer?: unknown) {
  const controls = useTyped(() => stored);
  useEffect(() => controls.follow(stored), [JSON.stringify(stored), answer]);
  return controls;
}

/** The input of a form over the stored state `before` it; `bound` ties a control to the part of its name. */
export function useTyped<Typed extends object>(initial: () => Typed) {
  const [{ typed, before }, put] = useState(() => {
    const first = initial();
    return { typed: first, before: first };
  });
  const setTyped = (next: Typed | ((typed: Typed) => Typed)): void =>
    put((now) => ({ ...now, typed: typeof next === 'function' ? next(now.typed) : next }));
  /** This is stored now, in place of what was typed. */
  const take = (stored: Typed): void => put({ typed: stored, before: stored });
  /** This is stored now; what was typed stays, with the state that it was typed over. */
  const follow = (stored: Typed): void =>
    put((now) => ({
      typed: { ...stored, ...otherParts(now.before, now.typed) },
      before: { ...stored, ...otherParts(now.typed, now.before) },
    }));
  /**
   * The input, joined with the changes of others. When both have changed the same part it throws once, so that the user
   * sees it and sends the form again.
   * @throws Error
   */
  const beside = (stored: Typed): Typed => {
    const mine = otherParts(before, typed);
    const differs = otherParts(stored, { ...stored, ...mine });
    const isLost = Object.keys(otherParts(before, stored)).some((name) => name in differs);
    const joined = { ...stored, ...mine };
    put({ typed: joined, before: stored });
    if (isLost) throw new Error(say.everywhere.changedMeanwhile);
    return joined;
  };
  const change = (part: Partial<Typed>): void => setTyped((before) => ({ ...before, ...part }));
  const bound = <Name extends keyof Typed & string>(name: Name) => ({
    name: name as string,
    value: typed[name],
    onValue: (value: Typed[Name]) => change({ [name]: value } as unknown as Partial<Typed>),
  });
  return { typed, before, take, beside, follow, setTyped, change, bound };
}
