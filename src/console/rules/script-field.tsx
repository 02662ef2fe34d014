/** The field of a script: a plain one until the editor is loaded, and if it cannot be loaded. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Editor, ScriptCheck, ScriptNote } from './code-editor.ts';
import { checkScript, type RuleText } from './engine.ts';
import { say } from '../words/later.ts';
import { wordsAt } from './words.ts';

const LABEL = say.rules.script;

export function ScriptField({
  code,
  runtime,
  generation,
  onCode,
  isReadOnly,
}: {
  code: string;
  runtime: RuleText['runtime'];
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
  const { found, check } = useCheck(runtime);
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
          check,
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
  useEffect(() => editor.current?.checkAgain(), [runtime]);
  return (
    <div class="field">
      <span class="label">{LABEL}</span>
      <div class="script-editor" ref={place} hidden={state !== 'ready'} data-test="editor" />
      {state !== 'ready' && <PlainField code={code} onCode={onCode} isReadOnly={isReadOnly} />}
      <Findings found={found} />
      <span class="hint">
        {say.rules.scriptHint}
        {state === 'failed' && say.rules.editorLost}
      </span>
    </div>
  );
}

function PlainField({
  code,
  onCode,
  isReadOnly,
}: Pick<Parameters<typeof ScriptField>[0], 'code' | 'onCode' | 'isReadOnly'>) {
  return (
    <textarea
      class="script"
      aria-label={LABEL}
      value={code}
      rows={16}
      spellcheck={false}
      readOnly={isReadOnly}
      onInput={(event) => onCode(event.currentTarget.value)}
    />
  );
}

/** Findings of the last check. */
function useCheck(runtime: RuleText['runtime']) {
  const [found, setFound] = useState<ScriptCheck>({});
  const chosen = useRef(runtime);
  chosen.current = runtime;
  const check = async (code: string): Promise<ScriptCheck> => {
    const { fault, warnings } = await checkScript({ code, runtime: chosen.current });
    const checked = { fault: fault && said(fault), warnings: warnings?.map(said) };
    setFound(checked);
    return checked;
  };
  return { found, check };
}

const said = (note: ScriptNote): ScriptNote => ({ ...note, message: say.frame.said(note.message) });

/** In the editor, only a pointer can read them. */
function Findings({ found: { fault, warnings = [] } }: { found: ScriptCheck }) {
  return (
    <>
      {fault && (
        <p class="severity error" role="status">
          {say.rules.faultAt(fault.message, fault.line)}
        </p>
      )}
      {warnings.map(({ message, line }) => (
        <p class="severity warning" role="status" key={message}>
          {say.rules.faultAt(message, line)}
        </p>
      ))}
    </>
  );
}
