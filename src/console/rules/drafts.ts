/** Unsaved texts of rules, kept in this browser until they are saved or discarded. */
import type { RuleText } from './engine.ts';

interface Draft {
  text: RuleText;
  /** The stored text when typing began; undefined for a new rule. */
  base: RuleText | undefined;
}

const PREFIX = 'rule-draft ';

/** @param name id of the rule, or the empty text for a new one */
export function readDraft(name: string): Draft | undefined {
  const stored = localStorage.getItem(PREFIX + name);
  if (stored === null) return undefined;
  try {
    return JSON.parse(stored) as Draft;
  } catch (error) {
    // It is no draft, and there is nothing to keep.
    if (!(error instanceof SyntaxError)) throw error;
    localStorage.removeItem(PREFIX + name);
    return undefined;
  }
}

export function keepDraft(name: string, draft: Draft): void {
  localStorage.setItem(PREFIX + name, JSON.stringify(draft));
}

export function dropDraft(name: string): void {
  localStorage.removeItem(PREFIX + name);
}
