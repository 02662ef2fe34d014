/** Pieces of pages that the first view does not need: tabs, facts, copying and saving. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { may } from '../session.ts';
import { say } from '../words/index.ts';
import { Button } from './components.tsx';

/** A part of a page with an address of its own. */
export interface Tab {
  /** Last part of the address; empty: the page itself. */
  key: string;
  text: string;
  /** The least role that sees it; absent: any. */
  role?: string;
  /** It is needed only now and then, and stands apart. */
  isApart?: boolean;
}

const isSeen = ({ role = 'READONLY' }: Tab): boolean => may(role);

/** The tab that an address names, or the first: the link may come from a user with more rights. */
export function tabAt<One extends Tab>(tabs: readonly One[], wanted = ''): One | undefined {
  return tabs.find((tab) => tab.key === wanted && isSeen(tab)) ?? tabs[0];
}

/** The part of the page's title that names the tab; none for the tab that is the page itself. */
export const partOf = (tab: Tab | undefined): string | undefined => (tab?.key === '' ? undefined : tab?.text);

/**
 * Links to the tabs that the user's role may see. An address that names no such tab is replaced by the address of the
 * tab shown.
 * @param props.base address of the page
 * @param props.wanted the tab in the address; absent when it has none
 */
export function Tabs({
  name,
  base,
  tabs,
  current,
  wanted = '',
}: {
  name: string;
  base: string;
  tabs: readonly Tab[];
  current: Tab | undefined;
  wanted?: string | undefined;
}) {
  const shown = current?.key ?? '';
  useEffect(() => {
    if (wanted !== '' && wanted !== shown) location.replace(`${base}${shown && `/${shown}`}`);
  }, [base, wanted, shown]);
  return (
    <nav class="tabs" aria-label={name}>
      {tabs.filter(isSeen).map(({ key, text, isApart }) => (
        <a
          key={key}
          class={isApart === true ? 'apart' : undefined}
          href={`${base}${key && `/${key}`}`}
          aria-current={key === current?.key ? 'page' : undefined}
        >
          {text}
        </a>
      ))}
    </nav>
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
    // The browser's settings may refuse it.
    if (error instanceof DOMException) return copySelected(text);
    throw error;
  }
}

/** Copies by an invisible selection; focus and scroll position stay. */
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

/** A name and its value in a definition list. */
export function Fact({
  name,
  class: className = '',
  children,
}: {
  name: ComponentChildren;
  class?: string | undefined;
  children: ComponentChildren;
}) {
  return (
    <div class={`fact ${className}`.trimEnd()}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
