/** The choice of the console's language. */
import { useState } from 'preact/hooks';
import { Dialog, giveUpTyped, isSomethingTyped, Question, Select } from '../ui.tsx';
import { choose, language, type Language, LANGUAGES, say } from '../words/index.ts';

export function LanguageChoice() {
  const [wanted, setWanted] = useState<Language | undefined>(undefined);
  const stay = (): void => setWanted(undefined);
  return (
    <div class="language">
      <Select
        name="language"
        aria-label={say.frame.language}
        value={wanted ?? language}
        onValue={(value) => (isSomethingTyped() ? setWanted(value) : choose(value))}
        choices={LANGUAGES}
      />
      {wanted !== undefined && (
        <Dialog title={say.frame.otherLanguage} onClose={stay}>
          <Question
            text={say.frame.typedIsLost}
            confirm={say.frame.loadAgain}
            onConfirm={() => {
              giveUpTyped();
              choose(wanted);
            }}
            onClose={stay}
          />
        </Dialog>
      )}
    </div>
  );
}
