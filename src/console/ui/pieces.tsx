/** What pages are made of: buttons, cards, notices. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { sentencesOf } from '../api.ts';
import type { Action } from './asking.ts';
import { siteName } from '../site-name.ts';
import { say } from '../words/index.ts';

type Kind = 'primary' | 'plain' | 'danger';

interface ButtonProps {
  kind?: Kind;
  /** Starts when the button is pressed; nothing can be pressed until it has ended. */
  action?: Action;
  disabled?: boolean | undefined;
  /** It works on what it was pressed for. */
  'aria-busy'?: boolean;
  /** A second press takes the first one back: not that of a double click. */
  isSwitch?: boolean;
  onClick?: () => void;
  type?: 'button' | 'submit';
  children: ComponentChildren;
  /** What is read aloud, when the text alone does not say what it is about. */
  'aria-label'?: string;
  'data-command'?: string;
}

export function Button({
  kind = 'plain',
  type = 'button',
  isSwitch = false,
  action,
  disabled = false,
  onClick = () => void action?.start(),
  children,
  ...rest
}: ButtonProps) {
  const isDisabled = disabled || action?.isBusy === true;
  const element = useFocusAfter(isDisabled);
  return (
    <button
      ref={element}
      type={type}
      class={`button ${kind}`}
      disabled={isDisabled}
      onClick={({ detail: count }) => (!isSwitch || count < 2) && onClick()}
      {...rest}
    >
      {children}
    </button>
  );
}

/** Browsers take the focus from a button that is disabled while it works; the keyboard goes on there when it has. */
function useFocusAfter(isDisabled: boolean) {
  const element = useRef<HTMLButtonElement>(null);
  const hadFocus = useRef(false);
  if (isDisabled && element.current !== null && element.current === document.activeElement)
    hadFocus.current = true;
  useEffect(() => {
    if (isDisabled || !hadFocus.current) return;
    hadFocus.current = false;
    if (document.activeElement === document.body) element.current?.focus({ preventScroll: true });
  }, [isDisabled]);
  // While it is still in its place.
  useLayoutEffect(
    () => () => {
      const { current } = element;
      if (current !== null && (hadFocus.current || current === document.activeElement))
        setTimeout(wayOnFrom(current));
    },
    [],
  );
  return element;
}

/**
 * From a control that goes away, mostly with all that it was about, to what is beside, or to the heading above. The way is
 * taken where the keyboard is nowhere.
 */
export function wayOnFrom(gone: HTMLElement): () => void {
  const row = gone.closest('li');
  const beside = [row?.nextElementSibling, row?.previousElementSibling].map((other) =>
    other?.querySelector<HTMLElement>('a,button'),
  );
  const heading = gone.closest('section,dialog')?.querySelector<HTMLElement>('h2');
  return () => {
    if (document.activeElement !== document.body) return;
    const control = beside.find((one) => one?.isConnected);
    if (control) control.focus();
    else focusOn(heading?.isConnected === true ? heading : document.getElementById('content'));
  };
}

/** What is no stop of the Tab key has the focus, and the page stays where it is. */
export function focusOn(place: HTMLElement | null): void {
  if (!place) return;
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
}

/** The sentences of what went wrong. */
export function ErrorNotice({ error }: { error: unknown }) {
  if (error === undefined) return null;
  const sentences = sentencesOf(error);
  return (
    <div class="notice error" role="alert">
      {sentences.length === 1 ? (
        <p>{sentences[0]}</p>
      ) : (
        <ul>
          {sentences.map((sentence) => (
            <li>{sentence}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

export function Notice({
  kind = 'info',
  children,
}: {
  kind?: 'info' | 'warning' | 'success';
  children: ComponentChildren;
}) {
  return (
    <div class={`notice ${kind}`} role="status">
      {children}
    </div>
  );
}

/** What stands where nothing is, with what to do next. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

export function Card({
  title,
  actions,
  children,
  ...rest
}: {
  title?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
  'data-test'?: string;
}) {
  return (
    <section class="card" {...rest}>
      {(title !== undefined || actions !== undefined) && (
        <header class="card-head">
          <h2>{title}</h2>
          <div class="actions">{actions}</div>
        </header>
      )}
      {children}
    </section>
  );
}

export function PageHead({
  title,
  back,
  children,
}: {
  title: ComponentChildren;
  back?: { href: string; text: string };
  children?: ComponentChildren;
}) {
  useEffect(() => {
    document.title = typeof title === 'string' ? `${title} · ${siteName()}` : siteName();
  }, [title, siteName()]);
  return (
    <header class="page-head">
      <div>
        {back && (
          <a class="back" href={back.href}>
            ‹ {back.text}
          </a>
        )}
        <h1>{title}</h1>
      </div>
      <div class="actions">{children}</div>
    </header>
  );
}

/** What answers the question before, told apart while the present one is being asked. */
export function Late({ isOther, children }: { isOther: boolean; children: ComponentChildren }) {
  return (
    <div class={isOther ? 'late' : undefined} aria-busy={isOther}>
      {isOther && <Loading />}
      {children}
    </div>
  );
}

/** @param props.children what is known of how far it is */
export function Loading({ children = say.everywhere.loading }: { children?: ComponentChildren }) {
  return (
    <p class="loading" role="status">
      {children}
    </p>
  );
}

/** In the place of an answer that is not there yet: that it is on its way. Above one that is: what went wrong since. */
export function Awaited({
  answer,
  error,
  children,
}: {
  answer: unknown;
  error: unknown;
  /** What is known of how far it is. */
  children?: ComponentChildren;
}) {
  if (error !== undefined) return <ErrorNotice error={error} />;
  return answer === undefined ? <Loading>{children}</Loading> : null;
}
