/** Saves a script, after a question when it does not compile: saved, it would stop the rule that runs now. */
import { useRef, useState } from 'preact/hooks';
import { ApiError } from '../api.ts';
import { Dialog, Question, useAction } from '../ui.tsx';
import type { ScriptNote } from './code-editor.ts';
import { checkScript, type RuleText } from './engine.ts';
import { say } from '../words/later.ts';

/** The first fault; undefined when there is none, or when the gateway does not check now. */
async function faultOf(text: RuleText): Promise<ScriptNote | undefined> {
  try {
    return (await checkScript(text)).fault;
  } catch (error) {
    // The fault of the request is shown when it is saved.
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

export function useCheckedSave(text: RuleText, save: () => Promise<void>) {
  const [fault, setFault] = useState<string | undefined>(undefined);
  const isSure = useRef(false);
  const action = useAction(async () => {
    const found = isSure.current ? undefined : await faultOf(text);
    isSure.current = false;
    if (!found) return save();
    const sentence = say.rules.faultAt(say.frame.said(found.message), found.line);
    setFault(sentence);
    throw new Error(say.rules.notSavedWithFault(sentence));
  });
  const close = (): void => setFault(undefined);
  const question = fault !== undefined && (
    <Dialog title={say.rules.faultTitle} onClose={close}>
      <Question
        text={
          <>
            <p>{fault}</p>
            <p>{say.rules.faultText}</p>
          </>
        }
        confirm={say.rules.saveWithFault}
        isDangerous
        onConfirm={() => {
          close();
          isSure.current = true;
          void action.start();
        }}
        onClose={close}
      />
    </Dialog>
  );
  return { action, question };
}
