/** The fields of a rule. */
import { InputField, SelectField } from '../ui.tsx';
import type { RuleText } from './engine.ts';
import { ScriptField } from './script-field.tsx';
import { say } from '../words/later.ts';

const RUNTIMES = [
  { value: 'V3', text: say.rules.runtimeV3 },
  { value: 'V1', text: say.rules.runtimeV1 },
];

/** Attributes of the control for the name of a rule. */
export const RULE_NAME = {
  label: say.everywhere.name,
  name: 'slug',
  required: true,
  spellcheck: false,
  placeholder: say.rules.exampleName,
  pattern: '[A-Za-z0-9][A-Za-z0-9_\\-]{0,63}',
  title: say.rules.nameAllowed,
};

export function RuleFields({
  text: { slug, code, runtime, interval },
  generation = 0,
  onChange,
  isReadOnly,
}: {
  text: RuleText;
  /** Grows when the script comes from elsewhere than the editor. */
  generation?: number;
  onChange: (part: Partial<RuleText>) => void;
  isReadOnly: boolean;
}) {
  return (
    <>
      <div class="pair">
        <InputField {...RULE_NAME} value={slug} onValue={(value) => onChange({ slug: value })} />
        <SelectField
          label={say.rules.runtime}
          value={runtime}
          onValue={(value) => onChange({ runtime: value === 'V1' ? 'V1' : 'V3' })}
          choices={RUNTIMES}
          name="runtime"
        />
      </div>
      {runtime === 'V1' && (
        <InputField
          label={say.rules.interval}
          hint={say.rules.intervalHint}
          value={interval}
          onValue={(value) => onChange({ interval: value })}
          name="interval"
        />
      )}
      <ScriptField
        code={code}
        runtime={runtime}
        generation={generation}
        onCode={(value) => onChange({ code: value })}
        isReadOnly={isReadOnly}
      />
    </>
  );
}
