/** Controls for the parameters of a strategy, made from their declaration. */
import { type Texts, initialTexts } from '../arguments.ts';
import { attributeTitle, shownUnit } from '../format.ts';
import { type LiveDevice, liveDevice, liveDevices } from '../live.ts';
import { ArgumentFields } from '../parts/argument-form.tsx';
import type { StrategyParameter } from '../shapes.ts';
import { WEEKDAYS } from '../../lib/weekdays.ts';
import { unitText } from '../units.ts';
import { DECIMAL } from '../typed-number.ts';
import { Button, InputField, SelectField } from '../ui.tsx';
import { Check } from '../ui/form.tsx';
import { say } from '../words/later.ts';
import { type ArgumentsOf, argumentsOf, numericArguments, textsBelow, textsOf } from './parameter-texts.ts';
import { inWords } from './strategies.ts';

/** Declared arguments in the manifests of the devices. */
export const declaredArguments: ArgumentsOf = (device, command) =>
  liveDevice(device)?.manifest?.commands[command]?.arguments ?? {};

type Change = (change: (before: Texts) => Texts) => void;

interface FieldsProps {
  parameters: readonly StrategyParameter[];
  texts: Texts;
  onTexts: Change;
  /** Path of the parameters, with a dot at its end. */
  before?: string;
}

export function ParameterFields({ parameters, texts, onTexts, before = '' }: FieldsProps) {
  return (
    <>
      {parameters.map((parameter) => (
        <One
          key={parameter.name}
          parameter={parameter}
          texts={texts}
          onTexts={onTexts}
          at={before + parameter.name}
        />
      ))}
    </>
  );
}

interface OneProps {
  parameter: StrategyParameter;
  texts: Texts;
  onTexts: Change;
  at: string;
}

function One(props: OneProps) {
  switch (props.parameter.kind) {
    case 'list':
      return <List {...props} />;
    case 'weekdays':
      return <Days {...props} />;
    case 'time_window':
      return <Window {...props} />;
    case 'attribute':
      return <AttributeField {...props} />;
    case 'action':
    case 'setpoint':
      return <CommandField {...props} />;
    default:
      return <Simple {...props} />;
  }
}

/** Properties of the control at a path. */
const bound = ({ texts, onTexts }: OneProps, path: string) => ({
  name: path,
  value: texts[path] ?? '',
  onValue: (text: string) => onTexts((all) => ({ ...all, [path]: text })),
});

const titleOf = ({ display_name: name, unit }: StrategyParameter): string =>
  [inWords(name), unitText(unit ?? '')].filter(Boolean).join(', ');

const hintOf = ({ description }: StrategyParameter): string => (description ? inWords(description) : '');

function Simple(props: OneProps) {
  const { parameter, at } = props;
  const common = { label: titleOf(parameter), hint: hintOf(parameter), required: parameter.required };
  if (parameter.choices)
    return (
      <SelectField
        {...common}
        {...bound(props, at)}
        choices={parameter.choices.map(({ value, display_name: name }) => ({ value, text: inWords(name) }))}
      />
    );
  const kind = parameter.kind === 'time' ? ({ type: 'time' } as const) : DECIMAL;
  return <InputField {...common} {...kind} {...bound(props, at)} />;
}

function Window(props: OneProps) {
  const { parameter, at } = props;
  const title = titleOf(parameter);
  return (
    <div class="pair">
      <InputField
        label={say.rules.windowFrom(title)}
        hint={hintOf(parameter)}
        type="time"
        {...bound(props, `${at}.from`)}
      />
      <InputField label={say.rules.windowTo(title)} type="time" {...bound(props, `${at}.to`)} />
    </div>
  );
}

function Days({ parameter, texts, onTexts, at }: OneProps) {
  return (
    <fieldset class="plain" data-field={at}>
      <legend class="label">{titleOf(parameter)}</legend>
      {WEEKDAYS.map((day) => {
        const isOn = texts[`${at}.${day}`] === 'true';
        return (
          <Check
            key={day}
            value={isOn}
            onValue={() => onTexts((all) => ({ ...all, [`${at}.${day}`]: String(!isOn) }))}
          >
            {say.rules.weekday[day]}
          </Check>
        );
      })}
    </fieldset>
  );
}

interface Named {
  value: string;
  text: string;
}

const attributesOf = ({ manifest }: LiveDevice, wanted: StrategyParameter['type']): Named[] =>
  Object.entries(manifest?.telemetry ?? {})
    .filter(([, { type }]) => (wanted ? type === wanted : type === 'float' || type === 'integer'))
    .map(([value, attribute]) => ({
      value,
      text: [attributeTitle(value, attribute), shownUnit(attribute.unit, manifest)]
        .filter(Boolean)
        .join(', '),
    }));

const commandsOf = ({ manifest }: LiveDevice): Named[] =>
  Object.entries(manifest?.commands ?? {}).map(([value, { display_name: text }]) => ({ value, text }));

/** A device, and one of its values or commands. */
function DevicePart({
  props,
  what,
  namesOf,
  onName,
}: {
  props: OneProps;
  what: string;
  namesOf: (live: LiveDevice) => Named[];
  onName: (device: string, name: string) => void;
}) {
  const { parameter, texts, at } = props;
  const { required } = parameter;
  const able = liveDevices().filter((live) => namesOf(live).length > 0);
  const wanted = texts[`${at}.device`] ?? '';
  const live = able.find(({ device: { id, slug } }) => slug === wanted || id === wanted);
  return (
    <div class="pair">
      <SelectField
        label={titleOf({ ...parameter, unit: undefined })}
        hint={hintOf(parameter)}
        name={`${at}.device`}
        value={live ? live.device.slug : wanted}
        onValue={(device) => onName(device, '')}
        required={required}
        choices={[
          { value: '', text: able.length === 0 ? say.rules.noDeviceHasAny : say.everywhere.choose },
          ...able.map(({ device }) => ({ value: device.slug, text: device.name })),
        ]}
      />
      <SelectField
        label={what}
        name={`${at}.name`}
        value={texts[`${at}.name`] ?? ''}
        onValue={(name) => onName(wanted, name)}
        required={required || wanted !== ''}
        choices={[{ value: '', text: say.everywhere.choose }, ...(live ? namesOf(live) : [])]}
      />
    </div>
  );
}

function AttributeField(props: OneProps) {
  const { parameter, onTexts, at } = props;
  const { sign } = parameter;
  return (
    <>
      <DevicePart
        props={props}
        what={say.rules.value}
        namesOf={(live) => attributesOf(live, parameter.type)}
        onName={(device, name) =>
          onTexts((all) => ({ ...all, [`${at}.device`]: device, [`${at}.name`]: name }))
        }
      />
      {sign && (
        <SelectField
          label={say.site.positiveMeans}
          {...bound(props, `${at}.inverted`)}
          value={props.texts[`${at}.inverted`] === 'true' ? 'true' : 'false'}
          choices={[
            { value: 'false', text: inWords(sign.positive) },
            { value: 'true', text: inWords(sign.negative) },
          ]}
        />
      )}
    </>
  );
}

function CommandField(props: OneProps) {
  const { parameter, texts, onTexts, at } = props;
  const isSetpoint = parameter.kind === 'setpoint';
  const numeric = isSetpoint ? numericArguments(declaredArguments, texts, at) : [];
  const below = `${at}.arguments`;
  return (
    <>
      <DevicePart
        props={props}
        what={say.rules.command}
        namesOf={(live) =>
          commandsOf(live).filter(
            ({ value }) =>
              !isSetpoint ||
              numericArguments(
                declaredArguments,
                { [`${at}.device`]: live.device.slug, [`${at}.name`]: value },
                at,
              ).length > 0,
          )
        }
        onName={(device, name) => onTexts((all) => withCommand(all, at, { device, name, isSetpoint }))}
      />
      {numeric.length > 1 && (
        <SelectField
          label={say.rules.argumentSet}
          {...bound(props, `${at}.argument`)}
          choices={numeric.map((value) => ({ value, text: value }))}
        />
      )}
      <ArgumentFields
        declared={argumentsOf(declaredArguments, texts, at)}
        texts={textsBelow(texts, below)}
        onTexts={(change) => onTexts((all) => ({ ...all, ...above(change(textsBelow(all, below)), below) }))}
      />
    </>
  );
}

const above = (texts: Texts, at: string): Texts =>
  Object.fromEntries(Object.entries(texts).map(([key, text]) => [`${at}.${key}`, text]));

/** Another command has other arguments, which begin with their defaults. */
function withCommand(
  all: Texts,
  at: string,
  { device, name, isSetpoint }: { device: string; name: string; isSetpoint: boolean },
): Texts {
  const kept = Object.entries(all).filter(([key]) => !key.startsWith(`${at}.`));
  const chosen: Texts = {
    ...Object.fromEntries(kept),
    [`${at}.device`]: device,
    [`${at}.name`]: name,
  };
  const [argument] = isSetpoint ? numericArguments(declaredArguments, chosen, at) : [];
  const next: Texts = argument === undefined ? chosen : { ...chosen, [`${at}.argument`]: argument };
  return { ...next, ...above(initialTexts(argumentsOf(declaredArguments, next, at)), `${at}.arguments`) };
}

function List({ parameter, texts, onTexts, at }: OneProps) {
  const { parameters = [], min = 0, max = 0 } = parameter;
  const length = Number(texts[`${at}.length`] ?? 0);
  const resize = (change: number): void =>
    onTexts((all) => ({
      ...all,
      ...(change > 0 && textsOf(parameters, {}, declaredArguments, `${at}.${length}.`)),
      [`${at}.length`]: String(length + change),
    }));
  return (
    <fieldset class="plain">
      <legend class="label">{titleOf(parameter)}</legend>
      <p class="hint">{hintOf(parameter)}</p>
      {Array.from({ length }, (_, index) => (
        <fieldset class="plain" key={index}>
          <legend class="label">{say.rules.itemTitle(index + 1)}</legend>
          <ParameterFields
            parameters={parameters}
            texts={texts}
            onTexts={onTexts}
            before={`${at}.${index}.`}
          />
        </fieldset>
      ))}
      <div class="actions">
        {length < max && <Button onClick={() => resize(1)}>{say.everywhere.add}</Button>}
        {length > min && <Button onClick={() => resize(-1)}>{say.rules.removeLast}</Button>}
      </div>
    </fieldset>
  );
}
