/** Components of pages: buttons, cards, notices. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { sentencesOf } from '../api.ts';
import type { Action } from './requests.ts';
import { siteName } from '../site-name.ts';
import { useHold } from './settling.ts';
import { say } from '../words/index.ts';

type Kind = 'primary' | 'plain' | 'danger';

interface ButtonProps {
  kind?: Kind;
  /** Starts when the button is pressed; nothing can be pressed until it has ended. */
  action?: Action;
  disabled?: boolean | undefined;
  /** It was pressed, and its work is not done. */
  'aria-busy'?: boolean;
  /** A second press undoes the first; the second click of a double click is no such press. */
  isSwitch?: boolean;
  onClick?: () => void;
  type?: 'button' | 'submit';
  children: ComponentChildren;
  /** Accessible name, when the text alone does not name its subject. */
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

/** Browsers take the focus from a button that is disabled while it works; afterwards it gets it back. */
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
  // While it is still in the document.
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
 * Returns what moves the focus from a control that is removed, mostly with its row, to the row beside it or to the
 * heading above, unless something else has the focus by then.
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

/** Focuses an element that Tab does not reach, without scrolling. */
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

/** A sentence, or paragraphs and what can be done about them. */
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

/** Stands in the place of an empty list and says what to do next. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      {/* No heading: it may stand right below the title of the page. */}
      <p class="title">{title}</p>
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

/** Names the page in the browser's tab. */
export function useTitle(title: string, part = ''): void {
  useEffect(() => {
    const names = [title, part].filter((name) => name !== '');
    document.title = [names.join(' – '), siteName()].filter((name) => name !== '').join(' · ');
  }, [title, part, siteName()]);
}

export function PageHead({
  title,
  sign,
  part,
  back,
  children,
}: {
  title: ComponentChildren;
  /** A drawing before it. */
  sign?: ComponentChildren;
  /** The tab shown, so that two tabs of a page differ in the title of the browser. */
  part?: string | undefined;
  back?: { href: string; text: string };
  children?: ComponentChildren;
}) {
  useTitle(typeof title === 'string' ? title : '', part);
  return (
    <header class="page-head">
      <div>
        {back && (
          <a class="back" href={back.href}>
            ‹ {back.text}
          </a>
        )}
        <h1>
          {sign}
          {title}
        </h1>
      </div>
      <div class="actions">{children}</div>
    </header>
  );
}

/** The answer to an earlier request, faded while the present one is under way. */
export function Late({ isOther, children }: { isOther: boolean; children: ComponentChildren }) {
  return (
    <div class={isOther ? 'late' : undefined} aria-busy={isOther}>
      {isOther && <Loading />}
      {children}
    </div>
  );
}

/** @param props.children the progress, if it is known */
export function Loading({ children = say.everywhere.loading }: { children?: ComponentChildren }) {
  useHold(true);
  return (
    <p class="loading" role="status">
      {children}
    </p>
  );
}

/** Says that an answer has not come yet, or why the last read failed. */
export function Awaited({
  answer,
  error,
  children,
}: {
  answer: unknown;
  error: unknown;
  /** The progress, if it is known. */
  children?: ComponentChildren;
}) {
  if (error !== undefined) return <ErrorNotice error={error} />;
  return answer === undefined ? <Loading>{children}</Loading> : null;
}
