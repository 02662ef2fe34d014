/** Controls for arguments of a command or parameters of a configuration group. */
import { choicesOf, type Declared, isLong, type Texts } from '../arguments.ts';
import { Field, Input, Select } from '../ui.tsx';
import type { Argument } from '../shapes.ts';

export function ArgumentFields({
  declared,
  texts,
  onTexts,
  keepsSecrets = false,
}: {
  declared: Declared;
  texts: Texts;
  onTexts: (texts: Texts) => void;
  /** Secrets are stored already and stay when nothing is typed. */
  keepsSecrets?: boolean;
}) {
  return (
    <>
      {Object.entries(declared).map(([name, argument]) => (
        <Field
          key={name}
          label={argument.display_name}
          required={argument.required}
          hint={hintOf(argument, keepsSecrets)}
        >
          <Control
            name={name}
            argument={argument}
            text={texts[name] ?? ''}
            onText={(text) => onTexts({ ...texts, [name]: text })}
            mayStay={keepsSecrets && argument.sensitive === true}
          />
        </Field>
      ))}
    </>
  );
}

function hintOf(argument: Argument, keepsSecrets: boolean): string {
  const { description, min, max, sensitive, type } = argument;
  const bounds = min !== undefined && max !== undefined ? `${min} to ${max}.` : '';
  return [
    description ?? '',
    bounds || (min !== undefined ? `At least ${min}.` : max !== undefined ? `At most ${max}.` : ''),
    type === 'array_of_strings' ? 'One per line.' : '',
    keepsSecrets && sensitive === true ? 'Never shown; what is stored stays when nothing is typed.' : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function Control({
  name,
  argument,
  text,
  onText,
  mayStay,
}: {
  name: string;
  argument: Argument;
  text: string;
  onText: (text: string) => void;
  mayStay: boolean;
}) {
  const choices = choicesOf(argument);
  const isRequired = argument.required === true && !mayStay;
  const unset = { value: '', text: '–' };
  if (choices)
    return (
      <Select
        value={text}
        onValue={onText}
        name={name}
        required={isRequired}
        choices={[unset, ...choices.map((choice) => ({ value: String(choice.value), text: choice.text }))]}
      />
    );
  if (argument.type === 'boolean')
    return (
      <Select
        value={text}
        onValue={onText}
        name={name}
        required={isRequired}
        choices={[unset, { value: 'true', text: 'Yes' }, { value: 'false', text: 'No' }]}
      />
    );
  if (isLong(argument))
    return (
      <textarea
        rows={4}
        name={name}
        value={text}
        required={isRequired}
        spellcheck={false}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    );
  const isNumber = argument.type === 'integer' || argument.type === 'float';
  return (
    <Input
      value={text}
      onValue={onText}
      name={name}
      required={isRequired}
      type={argument.sensitive ? 'password' : isNumber ? 'number' : 'text'}
      {...(isNumber && {
        step: argument.type === 'integer' ? 1 : 'any',
        min: argument.min,
        max: argument.max,
      })}
      autocomplete="off"
    />
  );
}
