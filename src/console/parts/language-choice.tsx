/** In which language the console speaks. */
import { Field, Select } from '../ui.tsx';
import { choose, language, LANGUAGES, say } from '../words/index.ts';

export function LanguageChoice() {
  if (LANGUAGES.length < 2) return null;
  return (
    <div class="language">
      <Field label={say.frame.language}>
        <Select name="language" value={language} onValue={choose} choices={LANGUAGES} />
      </Field>
    </div>
  );
}
