/** In which language the console speaks. */
import { Select } from '../ui.tsx';
import { choose, language, LANGUAGES, say } from '../words/index.ts';

export function LanguageChoice() {
  return (
    <div class="language">
      <Select
        name="language"
        aria-label={say.frame.language}
        value={language}
        onValue={choose}
        choices={LANGUAGES}
      />
    </div>
  );
}
