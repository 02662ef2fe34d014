/** Names the template of what somebody found at a device, and saves it as one of the owner's own. */
import { useState } from 'preact/hooks';
import { callFor } from '../api.ts';
import { type } from '../new-device.ts';
import { go } from '../route.ts';
import type { LibraryEntry } from '../shapes.ts';
import { Button, Card, Form, InputField, Notice, SelectField, useAction } from '../ui.tsx';
import { Code, download } from '../ui/page-components.tsx';
import { useTyped } from '../ui/typed.ts';
import { say } from '../words/later.ts';
import type { TemplateNames } from './template-text.ts';

const YAML = 'application/yaml';
const CATEGORIES = Object.entries(say.adding.registers.category).map(([value, text]) => ({ value, text }));

interface OwnTemplateProps {
  /** A value has a name: a template can be made. */
  isNamed: boolean;
  textOf: (names: TemplateNames) => string;
  /** Connection of the device that was read, for the form that adds it. */
  connection: Readonly<Record<string, unknown>>;
  runtime: string;
}

export function OwnTemplate({ isNamed, textOf, connection, runtime }: OwnTemplateProps) {
  const { typed, bound } = useTyped(() => ({ name: '', maker: '', category: CATEGORIES[0]?.value ?? '' }));
  const [saved, setSaved] = useState<LibraryEntry | undefined>(undefined);
  const text = textOf(typed);
  const saving = useAction(async () => {
    setSaved(undefined);
    setSaved(await callFor('device', 'POST', '/v3/library/devices', new Blob([text], { type: YAML })));
  });
  const addDevice = (): void => {
    type({ template: saved?.id, name: typed.name, connection, runtime });
    go('#/add');
  };
  return (
    <Card title={say.adding.registers.template} data-test="own-template">
      <p class="hint">{isNamed ? say.adding.registers.templateHint : say.adding.registers.nameFirst}</p>
      {isNamed && (
        <Form
          action={saving}
          submit={say.adding.registers.save}
          isKept
          buttons={
            <Button onClick={() => download('template.yml', text, YAML)}>{say.everywhere.download}</Button>
          }
        >
          <div class="pair">
            <InputField label={say.adding.maker} {...bound('maker')} required maxLength={60} />
            <InputField label={say.adding.registers.product} {...bound('name')} required maxLength={60} />
          </div>
          <SelectField label={say.adding.registers.kind} {...bound('category')} choices={CATEGORIES} />
          <details class="more">
            <summary>{say.adding.registers.show}</summary>
            <Code text={text} />
          </details>
        </Form>
      )}
      {saved && (
        <Notice kind="success">
          <p>{say.adding.registers.saved(saved.name)}</p>
          <Button onClick={addDevice}>{say.devices.addDevice}</Button>
        </Notice>
      )}
    </Card>
  );
}
