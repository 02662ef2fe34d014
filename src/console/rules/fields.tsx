/** What is typed of a rule. */
import { Field, Input, Select } from '../ui.tsx';
import type { RuleText } from './engine.ts';
import { ScriptField } from './script-field.tsx';

const RUNTIMES = [
  { value: 'V3', text: 'V3: the script runs on and waits for events' },
  { value: 'V1', text: 'V1: the script is run at an interval' },
];

export function RuleFields({
  text: { slug, code, runtime, interval },
  generation = 0,
  onChange,
  isReadOnly,
}: {
  text: RuleText;
  /** Of the script: grows when it comes from elsewhere than the editor. */
  generation?: number;
  onChange: (part: Partial<RuleText>) => void;
  isReadOnly: boolean;
}) {
  return (
    <>
      <div class="pair">
        <RuleName slug={slug} onSlug={(value) => onChange({ slug: value })} />
        <Field label="Runtime">
          <Select
            value={runtime}
            onValue={(value) => onChange({ runtime: value === 'V1' ? 'V1' : 'V3' })}
            choices={RUNTIMES}
            name="runtime"
          />
        </Field>
      </div>
      {runtime === 'V1' && (
        <Field label="Interval" hint="Such as 500ms, 10s or 1m; nothing means 1s.">
          <Input value={interval} onValue={(value) => onChange({ interval: value })} name="interval" />
        </Field>
      )}
      <ScriptField
        code={code}
        generation={generation}
        onCode={(value) => onChange({ code: value })}
        isReadOnly={isReadOnly}
      />
    </>
  );
}

export function RuleName({ slug, onSlug }: { slug: string; onSlug: (slug: string) => void }) {
  return (
    <Field label="Name">
      <Input
        value={slug}
        onValue={onSlug}
        name="slug"
        required
        spellcheck={false}
        placeholder="night-charge"
        pattern="[A-Za-z0-9][A-Za-z0-9_\-]{0,63}"
        title="Letters, digits, - and _"
      />
    </Field>
  );
}
