/** Forms and their controls. */
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { ApiError } from '../api.ts';
import type { Action } from './requests.ts';
import { Button, ErrorNotice, Notice } from './components.tsx';
import { say } from '../words/index.ts';

/** Forms with input that was not sent. */
const typedInto = new Set<HTMLFormElement>();

/** Whether input would be lost with the page, or with a part of it. */
export const isSomethingTyped = (part: Node = document): boolean =>
  [...typedInto].some((form) => part.contains(form));

/** Gives up input that was not sent, after a question. */
export const giveUpTyped = (): void => typedInto.clear();

/**
 * A form with its fields, its error or success, and its buttons. It is sent once at a time, and shows success until
 * something is typed.
 */
export function Form({
  action,
  submit,
  done,
  isIncomplete = false,
  isReadOnly = false,
  isKept = false,
  buttons,
  onCancel,
  children,
}: {
  action: Action;
  /** Text of the button that sends it. */
  submit: string;
  done?: ComponentChildren;
  isIncomplete?: boolean;
  isReadOnly?: boolean;
  /** Its input is kept elsewhere, or is not worth a question when the page is left. */
  isKept?: boolean;
  /** Beside the button that sends it. */
  buttons?: ComponentChildren;
  /** Closes the dialog of the form. */
  onCancel?: () => void;
  children: ComponentChildren;
}) {
  const element = useRef<HTMLFormElement>(null);
  useErrorInSight(element, action.error);
  // Preact runs the cleanup of other effects after the next frame, and the user may leave the page before.
  useLayoutEffect(() => {
    const { current } = element;
    return () => void (current && typedInto.delete(current));
  }, []);
  // Runs before success is drawn: the user may leave the page at once.
  useLayoutEffect(() => {
    if (action.isDone && element.current) typedInto.delete(element.current);
  }, [action.isDone]);
  return (
    <form
      ref={element}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isIncomplete) void action.start();
      }}
      onInput={({ currentTarget }) => {
        if (!isKept) typedInto.add(currentTarget);
        if (action.isDone) action.clear();
      }}
    >
      <fieldset disabled={isReadOnly} class="plain">
        {children}
      </fieldset>
      <ErrorNotice error={inWordsOf(element.current, action.error)} />
      {action.isDone && done !== undefined && <Notice kind="success">{done}</Notice>}
      {!isReadOnly && (
        <div class="actions end">
          {buttons}
          {onCancel && <Button onClick={onCancel}>{say.everywhere.cancel}</Button>}
          <Button
            kind="primary"
            type="submit"
            disabled={action.isBusy || isIncomplete}
            aria-busy={action.isBusy}
          >
            {submit}
          </Button>
        </div>
      )}
    </form>
  );
}

/** A refusal in which fields are called as the form calls them. */
function inWordsOf(form: HTMLFormElement | null, error: unknown): unknown {
  if (!form || !(error instanceof ApiError)) return error;
  const problems = error.problems.map((problem) => {
    const field = String(problem.details?.['field']);
    const label = labelOf(form, field);
    return label === undefined
      ? problem
      : { ...problem, message: problem.message.replace(field, () => label) };
  });
  return new ApiError(error.status, problems);
}

/** By `data-field`, or by the last name of the field, such as `email.to.0`. */
function labelOf(form: HTMLFormElement, field: string): string | undefined {
  const name = field.split('.').findLast((part) => !/^\d+$/.test(part)) ?? '';
  const control = form.querySelector(`[data-field="${CSS.escape(field)}"]`) ?? form.elements.namedItem(name);
  if (!(control instanceof Element)) return undefined;
  return control.closest('label')?.querySelector('.label')?.firstChild?.textContent ?? undefined;
}

/** A long form grows below what is in sight. */
function useErrorInSight(form: RefObject<HTMLFormElement | null>, error: unknown): void {
  useLayoutEffect(() => {
    if (error === undefined) return;
    for (const part of ['.actions', '.error'])
      form.current?.querySelector(`:scope > ${part}`)?.scrollIntoView({ block: 'nearest' });
  }, [error]);
}

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  /** Marks a required field among others. */
  isMarked?: boolean | undefined;
}

/** A labelled control; the label wraps it. The hint is no part of its name, but is read after it. */
export function Field({ label, hint, isMarked, children }: FieldProps & { children: ComponentChildren }) {
  const id = useId();
  const place = useRef<HTMLDivElement>(null);
  const hasHint = hint !== undefined && hint !== '';
  useLayoutEffect(() => {
    const control = place.current?.querySelector('input,select,textarea');
    if (hasHint) control?.setAttribute('aria-describedby', id);
    else control?.removeAttribute('aria-describedby');
  });
  return (
    <div class="field" ref={place}>
      <label>
        <span class="label">
          {label}
          {isMarked && (
            <span class="required" title={say.everywhere.required}>
              {' '}
              *
            </span>
          )}
        </span>
        {children}
      </label>
      {hasHint && (
        <span class="hint" id={id}>
          {hint}
        </span>
      )}
    </div>
  );
}

interface InputProps {
  value: string;
  onValue: (value: string) => void;
  type?: 'text' | 'password' | 'number' | 'search' | 'time' | 'date';
  [attribute: string]: unknown;
}

export function Input({ value, onValue, type = 'text', ...rest }: InputProps) {
  // Preact's types tie every input type to ARIA roles of its own.
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
      // Names may be read from right to left.
      dir="auto"
      value={value}
      onInput={(event) => onValue(event.currentTarget.value)}
      {...rest}
    />
  );
}

/** A labelled input; one that is marked is required. */
export function InputField({ label, hint, isMarked, ...input }: FieldProps & InputProps) {
  return (
    <Field label={label} hint={hint} isMarked={isMarked}>
      <Input required={isMarked} {...input} />
    </Field>
  );
}

export interface Choice<Value extends string = string> {
  value: Value;
  text: string;
}

interface SelectProps<Value extends string> {
  value: Value;
  onValue: (value: Value) => void;
  choices: readonly Choice<Value>[];
  [attribute: string]: unknown;
}

export function Select<Value extends string>({ value, onValue, choices, ...rest }: SelectProps<Value>) {
  return (
    <select value={value} onChange={(event) => onValue(event.currentTarget.value as Value)} {...rest}>
      {/* What was chosen may be gone, and browsers would show the first one in its place. */}
      {choices.every((choice) => choice.value !== value) && (
        <option key={value} value={value} selected>
          –
        </option>
      )}
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value} selected={choice.value === value}>
          {choice.text}
        </option>
      ))}
    </select>
  );
}

/** A labelled choice. */
export function SelectField<Value extends string>({
  label,
  hint,
  ...select
}: FieldProps & SelectProps<Value>) {
  return (
    <Field label={label} hint={hint}>
      <Select {...select} />
    </Field>
  );
}

/** A checkbox with its text. */
export function Check({
  value,
  onValue,
  children,
}: {
  value: boolean;
  onValue: (value: boolean) => void;
  children: ComponentChildren;
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={() => onValue(!value)} /> {children}
    </label>
  );
}

interface SecretProps extends InputProps {
  label: string;
  isKept?: boolean | undefined;
}

/** A stored secret is never shown; a typed one replaces it. */
export function SecretField({ isKept = false, ...input }: SecretProps) {
  const hint = isKept ? say.everywhere.secretKept : say.everywhere.secretHidden;
  return <InputField hint={hint} type="password" autocomplete="new-password" {...input} />;
}
