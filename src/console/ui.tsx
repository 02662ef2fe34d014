/** The pieces that pages are made of. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { sentencesOf } from './api.ts';
import { isConnected } from './connection.ts';

type Kind = 'primary' | 'plain' | 'danger';

interface ButtonProps {
  kind?: Kind;
  disabled?: boolean | undefined;
  onClick?: () => void;
  type?: 'button' | 'submit';
  children: ComponentChildren;
  /** What is read aloud, when the text alone does not say what it is about. */
  'aria-label'?: string;
  'data-command'?: string;
}

export function Button({ kind = 'plain', type = 'button', children, ...rest }: ButtonProps) {
  return (
    <button type={type} class={`button ${kind}`} {...rest}>
      {children}
    </button>
  );
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
    document.title = typeof title === 'string' ? `${title} · Energy gateway` : 'Energy gateway';
  }, [title]);
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

/** A form that the page handles: the browser itself sends nothing. */
export function Form({ onSubmit, children }: { onSubmit: () => unknown; children: ComponentChildren }) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

/** A labelled control; the label wraps it, so no ids are needed. */
export function Field({
  label,
  hint,
  required,
  children,
}: {
  label: string;
  hint?: ComponentChildren;
  required?: boolean | undefined;
  children: ComponentChildren;
}) {
  return (
    <label class="field">
      <span class="label">
        {label}
        {required && (
          <span class="required" title="required">
            {' '}
            *
          </span>
        )}
      </span>
      {children}
      {hint !== undefined && hint !== '' && <span class="hint">{hint}</span>}
    </label>
  );
}

interface InputProps {
  value: string;
  onValue: (value: string) => void;
  type?: 'text' | 'password' | 'number';
  [attribute: string]: unknown;
}

export function Input({ value, onValue, type = 'text', ...rest }: InputProps) {
  // The types of the library tie every type to roles of its own.
  const kind = type as 'text';
  const element = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Browsers heed the attribute when a page is loaded, not when it is changed.
    if (rest['autofocus'] === true) element.current?.focus();
  }, []);
  return (
    <input
      ref={element}
      type={kind}
      value={value}
      onInput={(event) => onValue(event.currentTarget.value)}
      {...rest}
    />
  );
}

export interface Choice {
  value: string;
  text: string;
}

export function Select({
  value,
  onValue,
  choices,
  ...rest
}: {
  value: string;
  onValue: (value: string) => void;
  choices: readonly Choice[];
  [attribute: string]: unknown;
}) {
  return (
    <select value={value} onChange={(event) => onValue(event.currentTarget.value)} {...rest}>
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value} selected={choice.value === value}>
          {choice.text}
        </option>
      ))}
    </select>
  );
}

/** Something that is asked of the gateway by a button: busy while it runs, with its error after. */
export function useAction<Parameters extends unknown[]>(
  run: (...parameters: Parameters) => Promise<unknown>,
): {
  isBusy: boolean;
  error: unknown;
  start: (...parameters: Parameters) => Promise<boolean>;
  clear: () => void;
} {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const running = useRef(false);
  return {
    isBusy,
    error,
    clear: () => setError(undefined),
    start: async (...parameters) => {
      // A second press before the first is answered must not ask twice.
      if (running.current) return false;
      running.current = true;
      setBusy(true);
      setError(undefined);
      try {
        await run(...parameters);
        return true;
      } catch (failure) {
        setError(failure);
        return false;
      } finally {
        running.current = false;
        setBusy(false);
      }
    },
  };
}

/** What the gateway answers; asked again when `keys` change or `again` is called. */
export function useAnswer<Answer>(
  ask: () => Promise<Answer>,
  keys: readonly unknown[],
): { answer: Answer | undefined; error: unknown; again: () => void } {
  const [answer, setAnswer] = useState<Answer | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    ask().then(
      (found) => {
        if (!isCurrent) return;
        setAnswer(found);
        setError(undefined);
      },
      (failure: unknown) => {
        if (isCurrent) setError(failure);
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [...keys, round]);
  const isBack = isConnected.value;
  useEffect(() => {
    // What could not be read while the gateway was away is read when it is back.
    if (isBack && error !== undefined) setRound((count) => count + 1);
  }, [isBack]);
  return { answer, error, again: () => setRound((count) => count + 1) };
}

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
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    // The keyboard goes on where it was.
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={element} onClose={onClose} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

/** A question before something that cannot be taken back. */
export function Confirm({ title, ...question }: QuestionProps & { title: string }) {
  return (
    <Dialog title={title} onClose={question.onClose}>
      <Question {...question} />
    </Dialog>
  );
}

interface QuestionProps {
  text?: ComponentChildren;
  confirm: string;
  isDangerous?: boolean;
  isBusy?: boolean;
  error?: unknown;
  onConfirm: () => void;
  onClose: () => void;
}

/** What is asked inside a dialog. */
export function Question({ text, confirm, isDangerous, isBusy, error, onConfirm, onClose }: QuestionProps) {
  return (
    <>
      {text !== undefined && <div class="dialog-text">{text}</div>}
      <ErrorNotice error={error} />
      <div class="actions end">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind={isDangerous ? 'danger' : 'primary'} disabled={isBusy} onClick={onConfirm}>
          {confirm}
        </Button>
      </div>
    </>
  );
}

export function Loading() {
  return (
    <p class="loading" role="status">
      Loading…
    </p>
  );
}

/** Copies without the clipboard interface too, which browsers offer to encrypted pages only. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    if (!(await copyText(text))) return;
    setDone(true);
    setTimeout(() => setDone(false), 1_500);
  };
  return <Button onClick={() => void copy()}>{isDone ? 'Copied' : label}</Button>;
}

async function copyText(text: string): Promise<boolean> {
  if (window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return true;
  }
  const area = document.createElement('textarea');
  area.value = text;
  const place = document.querySelector('dialog[open]') ?? document.body;
  place.append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  return isDone;
}

/** Hands the text to the browser as a file. */
export function download(name: string, content: BlobPart, type = 'application/json'): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
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
