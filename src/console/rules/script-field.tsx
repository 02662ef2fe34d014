/** The field of a script: a plain one until the editor is loaded, and if it cannot be loaded. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Editor, ScriptFault } from './code-editor.ts';
import { findFault } from './engine.ts';
import { say } from '../words/index.ts';
import { wordsAt } from './words.ts';

const LABEL = say.rules.script;

export function ScriptField({
  code,
  generation,
  onCode,
  isReadOnly,
}: {
  code: string;
  /** Grows when the code comes from elsewhere: typed code is in the editor already, and newer than what is drawn. */
  generation: number;
  onCode: (code: string) => void;
  isReadOnly: boolean;
}) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | undefined>(undefined);
  const listener = useRef(onCode);
  listener.current = onCode;
  const latest = useRef(code);
  latest.current = code;
  const [state, setState] = useState<'loading' | 'ready' | 'failed'>('loading');
  const { fault, check } = useFault();
  useEffect(() => {
    let isCurrent = true;
    import('./code-editor.ts').then(
      ({ createEditor }) => {
        if (!isCurrent || !place.current) return;
        editor.current = createEditor({
          place: place.current,
          text: latest.current,
          label: LABEL,
          keys: say.everywhere.editorKeys,
          isReadOnly,
          onText: (text) => listener.current(text),
          findFault: check,
          wordsAt,
        });
        setState('ready');
      },
      () => isCurrent && setState('failed'),
    );
    return () => {
      isCurrent = false;
      editor.current?.destroy();
      editor.current = undefined;
    };
  }, []);
  useEffect(() => editor.current?.setText(code), [generation]);
  return (
    <div class="field">
      <span class="label">{LABEL}</span>
      <div class="script-editor" ref={place} hidden={state !== 'ready'} data-test="editor" />
      {state !== 'ready' && (
        <textarea
          class="script"
          aria-label={LABEL}
          value={code}
          rows={16}
          spellcheck={false}
          readOnly={isReadOnly}
          onInput={(event) => onCode(event.currentTarget.value)}
        />
      )}
      {fault && <Fault fault={fault} />}
      <span class="hint">
        {say.rules.scriptHint}
        {state === 'failed' && say.rules.editorLost}
      </span>
    </div>
  );
}

/** The fault that the last check has found. */
function useFault() {
  const [fault, setFault] = useState<ScriptFault | undefined>(undefined);
  const check = async (text: string): Promise<ScriptFault | undefined> => {
    const found = await findFault(text);
    setFault(found);
    return found;
  };
  return { fault, check };
}

/** In the editor, only a pointer can read it. */
function Fault({ fault: { message, line } }: { fault: ScriptFault }) {
  return (
    <p class="severity error" role="status">
      {say.rules.faultAt(message, line)}
    </p>
  );
}
