/** Windows above the page, and questions before what cannot be taken back. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useAction } from './requests.ts';
import { isSomethingTyped } from './form.tsx';
import { Button, ErrorNotice, focusOn, wayOnFrom } from './components.tsx';
import { say } from '../words/index.ts';

/** How many dialogs are open. */
export const openDialogs = signal(0);

/** A window above the page. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const focused = useRef<Node | null>(null);
  const [isAsking, setAsking] = useState(false);
  // With what is drawn, not after it: a key that is pressed meanwhile would be lost, or press what lies below.
  useLayoutEffect(() => {
    const { current } = element;
    const before = document.activeElement;
    const goOn = before instanceof HTMLElement ? wayOnFrom(before) : undefined;
    current?.showModal();
    openDialogs.value += 1;
    return () => {
      openDialogs.value -= 1;
      // The keyboard goes on where it was, if that is still there.
      current?.close();
      setTimeout(() => goOn?.());
    };
  }, []);
  useEffect(() => {
    // The focused control was replaced. A user who has moved to the browser's own controls stays there, and a button
    // that is busy gets the focus back after.
    const isLost = focused.current?.isConnected === false && document.activeElement === document.body;
    if (isLost && !element.current?.querySelector('button:disabled')) focusOn(heading.current);
  });
  return (
    <dialog
      ref={element}
      // Escape takes it away at once: a browser reports a dialog that it has closed itself only with the next frame, and a key that
      // is pressed before that would be lost. A file chooser that is cancelled reports it here, too.
      onCancel={(event) => {
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        // A key, or a gesture of a phone, comes by mistake more easily than a press of a button.
        if (isSomethingTyped(event.currentTarget)) setAsking(true);
        else onClose();
      }}
      // Where a browser closes it all the same. Not when it is closed because it goes away.
      onClose={({ currentTarget }) => currentTarget.isConnected && onClose()}
      aria-label={title}
      onClickCapture={once}
      onFocusIn={({ target }) => (focused.current = target as Node)}
    >
      <h2 ref={heading}>{title}</h2>
      {children}
      {isAsking && (
        <Dialog title={say.everywhere.discardTitle} onClose={() => setAsking(false)}>
          <Question
            text={say.frame.typedIsLost}
            confirm={say.everywhere.throwAway}
            onConfirm={onClose}
            onClose={() => setAsking(false)}
          />
        </Dialog>
      )}
    </dialog>
  );
}

/** The second click of two was meant for the control that was here before, not for the question. */
function once(event: MouseEvent): void {
  if (event.detail < 2 || !(event.target instanceof Element) || !event.target.closest('button')) return;
  event.preventDefault();
  event.stopPropagation();
}

/** A button for what cannot be taken back: it asks first. */
export function AskButton({
  children,
  title,
  text,
  confirm,
  run,
  isDangerous = true,
  ...button
}: {
  children: ComponentChildren;
  title: string;
  text?: ComponentChildren;
  confirm: string;
  isDangerous?: boolean;
  run: () => Promise<unknown>;
  kind?: 'plain' | 'primary' | 'danger';
  disabled?: boolean;
  'aria-label'?: string;
}) {
  const [isAsking, setAsking] = useState(false);
  const action = useAction(async () => {
    await run();
    setAsking(false);
  });
  const close = (): void => {
    action.clear();
    setAsking(false);
  };
  return (
    <>
      <Button {...button} onClick={() => setAsking(true)}>
        {children}
      </Button>
      {isAsking && (
        <Dialog title={title} onClose={close}>
          <Question
            text={text}
            confirm={confirm}
            isDangerous={isDangerous}
            isBusy={action.isBusy}
            error={action.error}
            onConfirm={() => void action.start()}
            onClose={close}
          />
        </Dialog>
      )}
    </>
  );
}

interface QuestionProps {
  text?: ComponentChildren;
  confirm: string;
  isDangerous?: boolean;
  isBusy?: boolean;
  error?: unknown;
  onConfirm: () => void;
  /** Absent: it is too late for that. */
  onClose?: (() => void) | undefined;
}

/** A question inside a dialog. */
export function Question({ text, confirm, isDangerous, isBusy, error, onConfirm, onClose }: QuestionProps) {
  return (
    <>
      {text !== undefined && <div class="dialog-text">{text}</div>}
      <ErrorNotice error={error} />
      <div class="actions end">
        {onClose && <Button onClick={onClose}>{say.everywhere.cancel}</Button>}
        <Button
          kind={isDangerous ? 'danger' : 'primary'}
          disabled={isBusy}
          aria-busy={isBusy === true}
          onClick={onConfirm}
        >
          {confirm}
        </Button>
      </div>
    </>
  );
}
