/**
 * The script editor, loaded when a script is opened. It lives in a shadow tree with constructed style sheets, because
 * the page's policy allows no style element.
 */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  type CompletionContext,
  completionKeymap,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  StreamLanguage,
  syntaxHighlighting,
} from '@codemirror/language';
import { lua } from '@codemirror/legacy-modes/mode/lua';
import { type Diagnostic, linter, lintGutter } from '@codemirror/lint';
import { EditorState, StateEffect } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Word } from './words.ts';

export interface ScriptNote {
  /** The first is 1; undefined: of no line. */
  line?: number | undefined;
  message: string;
}

/** The result of checking a script. */
export interface ScriptCheck {
  /** Why it does not compile. */
  fault?: ScriptNote | undefined;
  /** Functions that its runtime does not have. */
  warnings?: readonly ScriptNote[] | undefined;
}

export interface EditorOptions {
  place: HTMLElement;
  text: string;
  /** Its accessible name. */
  label: string;
  /** Its accessible description: how the keyboard leaves it. */
  keys: string;
  isReadOnly: boolean;
  onText: (text: string) => void;
  /** Says what is wrong with a text. */
  check: (text: string) => Promise<ScriptCheck>;
  /** Completions at the end of a line. */
  wordsAt: (line: string) => readonly Word[];
}

export interface Editor {
  /** Replaces the text. */
  setText: (text: string) => void;
  /** For another runtime. */
  checkAgain: () => void;
  destroy: () => void;
}

const CHECK_DELAY_MS = 600;

export function createEditor(options: EditorOptions): Editor {
  const root = options.place.shadowRoot ?? options.place.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({ doc: options.text, extensions: extensionsOf(options) }),
  });
  return {
    setText: (text) => {
      if (text === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    checkAgain: () => view.dispatch({ effects: CHECK_AGAIN.of(null) }),
    destroy: () => view.destroy(),
  };
}

const CHECK_AGAIN = StateEffect.define<null>();

function extensionsOf({ label, keys, isReadOnly, onText, check, wordsAt }: EditorOptions) {
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    indentOnInput(),
    indentUnit.of('  '),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    StreamLanguage.define(lua),
    syntaxHighlighting(COLOURS),
    autocompletion({ override: [(context) => complete(context, wordsAt)], icons: false }),
    lintGutter(),
    // A check needs the role that may change the script.
    isReadOnly
      ? []
      : linter(async (view) => diagnosticsOf(view, await check(view.state.doc.toString())), {
          delay: CHECK_DELAY_MS,
          needsRefresh: ({ transactions }) =>
            transactions.some(({ effects }) => effects.some((effect) => effect.is(CHECK_AGAIN))),
        }),
    keymap.of([
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...historyKeymap,
      ...completionKeymap,
      indentWithTab,
    ]),
    LEAVING,
    // With a tabindex the text can be focused in every browser, and a long line scrolled by keyboard.
    EditorView.contentAttributes.of({
      'aria-label': label,
      'aria-description': keys,
      autocapitalize: 'off',
      tabindex: '0',
    }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onText(update.state.doc.toString());
    }),
    EditorState.readOnly.of(isReadOnly),
    THEME,
  ];
}

/** Keys after which Tab may still leave. */
const NEUTRAL = new Set(['Escape', 'Tab', 'Shift', 'Control', 'Alt', 'Meta']);

/** After Escape the next Tab leaves, at any time, so that the keyboard is not trapped. */
const LEAVING = [
  EditorView.domEventHandlers({
    keydown: ({ key }, view) => {
      if (key === 'Escape') view.setTabFocusMode(true);
      return false;
    },
  }),
  EditorView.domEventObservers({
    keydown: ({ key }, view) => {
      if (!NEUTRAL.has(key)) view.setTabFocusMode(false);
    },
    blur: (_, view) => view.setTabFocusMode(false),
  }),
];

function complete(context: CompletionContext, wordsAt: EditorOptions['wordsAt']): CompletionResult | null {
  const word = context.matchBefore(/[\w-]*/);
  const { from: start } = context.state.doc.lineAt(context.pos);
  const line = context.state.sliceDoc(start, context.pos);
  if (/--/.test(line)) return null;
  const isAsked = context.explicit || /[.:'"]$/.test(line) || (word?.text.length ?? 0) > 0;
  if (!isAsked) return null;
  return { from: word?.from ?? context.pos, options: [...wordsAt(line)], validFor: /^[\w-]*$/ };
}

function diagnosticsOf({ state: { doc } }: EditorView, { fault, warnings = [] }: ScriptCheck): Diagnostic[] {
  const mark = ({ line = 1, message }: ScriptNote, severity: 'error' | 'warning'): Diagnostic => {
    const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines));
    return { from, to, severity, message };
  };
  return [...(fault ? [mark(fault, 'error')] : []), ...warnings.map((warning) => mark(warning, 'warning'))];
}

/** Custom properties of the page are inherited by the shadow tree. */
const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.controlKeyword], color: 'var(--line-4)', fontWeight: '600' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.atom], color: 'var(--warn)' },
  { tag: [tags.standard(tags.variableName), tags.function(tags.variableName)], color: 'var(--info)' },
]);

const THEME = EditorView.theme({
  '&': {
    border: '1px solid var(--control-line)',
    borderRadius: '8px',
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    fontSize: '0.875rem',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': {
    minHeight: '340px',
    maxHeight: '70vh',
    fontFamily: 'var(--mono)',
    lineHeight: '1.5',
  },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--raised)',
    color: 'var(--muted)',
    borderRight: '1px solid var(--line)',
    borderRadius: '8px 0 0 8px',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--accent) 8%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 28%, transparent)',
  },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-ground)' },
  // The default marks are images, which the page's policy does not allow.
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad)',
    textUnderlineOffset: '3px',
  },
  '.cm-lintRange-warning': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--warn)',
    textUnderlineOffset: '3px',
  },
  '.cm-lint-marker-error': { content: '"●"', color: 'var(--bad)' },
  '.cm-lint-marker-warning': { content: '"▲"', color: 'var(--warn)' },
  '.cm-tooltip': {
    border: '1px solid var(--line)',
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-completionDetail': { color: 'inherit', opacity: '0.75', fontStyle: 'normal', marginLeft: '1em' },
});
