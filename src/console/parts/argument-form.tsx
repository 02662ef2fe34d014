/** Controls for arguments of a command or parameters of a configuration group. */
import { choicesOf, type Declared, isLong, type Texts } from '../arguments.ts';
import { Field, Input, Select } from '../ui.tsx';
import type { Argument } from '../shapes.ts';
import { DECIMAL, textOfNumber } from '../typed-number.ts';
import { say } from '../words/index.ts';

export function ArgumentFields({
  declared,
  texts,
  onTexts,
  keepsSecrets = false,
}: {
  declared: Declared;
  texts: Texts;
  /** By an update of the latest texts: password managers fill in several controls at once. */
  onTexts: (change: (before: Texts) => Texts) => void;
  /** Secrets are stored already and stay when nothing is typed. */
  keepsSecrets?: boolean;
}) {
  return (
    <>
      {Object.entries(declared).map(([name, argument]) => (
        <Field
          key={name}
          label={argument.display_name}
          isMarked={argument.required}
          hint={hintOf(argument, keepsSecrets)}
        >
          <Control
            name={name}
            argument={argument}
            text={texts[name] ?? ''}
            onText={(text) => onTexts((before) => ({ ...before, [name]: text }))}
            mayStay={keepsSecrets && argument.sensitive === true}
          />
        </Field>
      ))}
    </>
  );
}

function hintOf(argument: Argument, keepsSecrets: boolean): string {
  const { description, sensitive, type } = argument;
  const [min, max] = [argument.min, argument.max].map((bound) =>
    bound === undefined ? undefined : textOfNumber(bound),
  );
  const bounds = min !== undefined && max !== undefined ? say.devices.between(min, max) : '';
  return [
    description ?? '',
    bounds ||
      (min !== undefined ? say.devices.atLeast(min) : max !== undefined ? say.devices.atMost(max) : ''),
    type === 'array_of_strings' ? say.devices.onePerLine : '',
    keepsSecrets && sensitive === true ? say.devices.secretStays : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

interface ControlProps {
  name: string;
  argument: Argument;
  text: string;
  onText: (text: string) => void;
  mayStay: boolean;
}

const YES_NO = [
  { value: true, text: say.values.yes },
  { value: false, text: say.values.no },
];

function Control({ name, argument, text, onText, mayStay }: ControlProps) {
  const common = { name, value: text, required: argument.required === true && !mayStay };
  const choices = choicesOf(argument) ?? (argument.type === 'boolean' ? YES_NO : undefined);
  if (choices)
    return (
      <Select
        {...common}
        onValue={onText}
        choices={[
          { value: '', text: '–' },
          ...choices.map((choice) => ({ value: String(choice.value), text: choice.text })),
        ]}
      />
    );
  if (isLong(argument))
    return (
      <textarea
        {...common}
        rows={4}
        spellcheck={false}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    );
  const isNumber = argument.type === 'integer' || argument.type === 'float';
  return (
    <Input
      {...common}
      onValue={onText}
      {...(isNumber && DECIMAL)}
      type={argument.sensitive ? 'password' : 'text'}
      // Browsers ignore `off` for passwords and would fill in that of this page.
      autocomplete={argument.sensitive ? 'new-password' : 'off'}
    />
  );
}
