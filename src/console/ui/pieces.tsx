/** What pages are made of: buttons, cards, notices. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { sentencesOf } from '../api.ts';
import { may } from '../session.ts';
import { siteName } from '../site-name.ts';
import { say } from '../words/index.ts';

type Kind = 'primary' | 'plain' | 'danger';

interface ButtonProps {
  kind?: Kind;
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
  onClick,
  children,
  ...rest
}: ButtonProps) {
  const element = useFocusAfter(rest.disabled === true);
  return (
    <button
      ref={element}
      type={type}
      class={`button ${kind}`}
      onClick={({ detail: count }) => (!isSwitch || count < 2) && onClick?.()}
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

/** Parts of a page, each with an address below that of the page; those that the user's role may see. */
export function Tabs({
  name,
  base,
  tabs,
  current,
}: {
  name: string;
  /** Address of the page. */
  base: string;
  /** The first one may be empty: the page itself. */
  tabs: readonly (readonly [key: string, text: string, role?: string])[];
  current: string;
}) {
  return (
    <nav class="tabs" aria-label={name}>
      {tabs
        .filter(([, , role = 'READONLY']) => may(role))
        .map(([key, text]) => (
          <a
            key={key}
            href={`${base}${key && `/${key}`}`}
            aria-current={key === current ? 'page' : undefined}
          >
            {text}
          </a>
        ))}
    </nav>
  );
}

export function Loading() {
  return (
    <p class="loading" role="status">
      {say.everywhere.loading}
    </p>
  );
}

/** Copies without the clipboard interface too, which browsers offer to encrypted pages only. */
export function CopyButton({ text, label = say.everywhere.copy }: { text: string; label?: string }) {
  const [outcome, setOutcome] = useState<string | undefined>(undefined);
  const copy = async (): Promise<void> => {
    setOutcome((await copyText(text)) ? say.everywhere.copied : say.everywhere.notCopied);
    setTimeout(() => setOutcome(undefined), 1_500);
  };
  return <Button onClick={() => void copy()}>{outcome ?? label}</Button>;
}

async function copyText(text: string): Promise<boolean> {
  if (!window.isSecureContext) return copySelected(text);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (error) {
    // A browser may be told to refuse it.
    if (error instanceof DOMException) return copySelected(text);
    throw error;
  }
}

/** By a selection that nobody sees; the keyboard and the page stay where they are. */
function copySelected(text: string): boolean {
  const before = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'hidden';
  const place = document.querySelector('dialog[open]') ?? document.body;
  place.append(area);
  area.focus({ preventScroll: true });
  area.setSelectionRange(0, text.length);
  const isDone = document.execCommand('copy');
  area.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return isDone;
}

/** Some browsers read a file only after the click is over. */
const KEPT_FOR_MS = 60_000;

/** Hands the text to the browser as a file. */
export function download(name: string, content: BlobPart, type = 'application/json'): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_FOR_MS);
}

/** Text that is meant for a terminal or a file. */
export function Code({ text }: { text: string }) {
  return (
    <div class="code">
      <pre>{text}</pre>
      <CopyButton text={text} />
    </div>
  );
}

/** What a date tells on its own line of a definition list. */
export function Fact({ name, children }: { name: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
