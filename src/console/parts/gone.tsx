/** The page of something that was deleted elsewhere. */
import type { ComponentChildren } from 'preact';
import { isSomethingTyped, Notice, openDialogs } from '../ui.tsx';

/** Somebody types something or is asked something, which must not go away by itself. */
export const isInUse = (): boolean => isSomethingTyped() || openDialogs.value > 0;

/** Its content, until it is gone and not in use any more. */
export function UnlessGone({
  isGone,
  text,
  isKept = false,
  children,
}: {
  isGone: boolean;
  /** Says that it is gone. */
  text: string;
  /** The content has something in it that is not stored. */
  isKept?: boolean;
  children: ComponentChildren;
}) {
  return (
    <>
      {isGone && <Notice kind="warning">{text}</Notice>}
      {(!isGone || isKept || isInUse()) && children}
    </>
  );
}
