/** Forms for the commonest rules: the script is written from a few answers. */
import { useState } from 'preact/hooks';
import type { DurationS } from '../../lib/time.ts';
import { type Declared, initialTexts, type Texts, typedValues } from '../arguments.ts';
import { attributeTitle, scaleFactor } from '../format.ts';
import { type LiveDevice, liveDevice, liveDevices } from '../live.ts';
import { ArgumentFields } from '../parts/argument-form.tsx';
import { go } from '../route.ts';
import { Card, Empty, Form, InputField, SelectField, useAction } from '../ui.tsx';
import { Code } from '../ui/page-pieces.tsx';
import { useTyped } from '../ui/typed.ts';
import { createRule, rulePage, scriptOf } from './engine.ts';
import { RULE_NAME } from './fields.tsx';
import { limitScript, surplusScript, timeScript } from './simple.ts';
import { DECIMAL, DECIMAL_FROM_0, typedNumber } from '../typed-number.ts';
import { say } from '../words/index.ts';

type SimpleKind = 'limit' | 'time' | 'surplus';

export const SIMPLE: readonly { kind: SimpleKind; title: string; about: string }[] = [
  { kind: 'limit', title: say.rules.limitTitle, about: say.rules.limitAbout },
  { kind: 'time', title: say.rules.timeTitle, about: say.rules.timeAbout },
  { kind: 'surplus', title: say.rules.surplusTitle, about: say.rules.surplusAbout },
];

interface Picked {
  /** Slug. */
  device: string;
  name: string;
}

interface PickProps {
  label: string;
  what: string;
  /** Of the controls. */
  name: string;
  picked: Picked;
  namesOf: (live: LiveDevice) => { value: string; text: string }[];
  onPick: (picked: Picked) => void;
}

/** A device, and one of its values or commands. */
function DevicePart({ label, what, name, picked, namesOf, onPick }: PickProps) {
  const able = liveDevices().filter((live) => namesOf(live).length > 0);
  const live = able.find(({ device }) => device.slug === picked.device);
  return (
    <div class="pair">
      <SelectField
        label={label}
        name={`${name}_device`}
        value={picked.device}
        onValue={(device) => onPick({ device, name: '' })}
        required
        choices={[
          { value: '', text: able.length === 0 ? say.rules.noDeviceHasAny : say.everywhere.choose },
          ...able.map(({ device }) => ({ value: device.slug, text: device.name })),
        ]}
      />
      <SelectField
        label={what}
        name={`${name}_name`}
        value={picked.name}
        onValue={(chosen) => onPick({ ...picked, name: chosen })}
        required
        choices={[{ value: '', text: say.everywhere.choose }, ...(live ? namesOf(live) : [])]}
      />
    </div>
  );
}

const numbersOf = ({ manifest }: LiveDevice): { value: string; text: string }[] =>
  Object.entries(manifest?.telemetry ?? {})
    .filter(([, { type }]) => type === 'float' || type === 'integer')
    .map(([value, attribute]) => ({
      value,
      text: [attributeTitle(value, attribute), attribute.unit].filter(Boolean).join(', '),
    }));

const commandsOf = ({ manifest }: LiveDevice): { value: string; text: string }[] =>
  Object.entries(manifest?.commands ?? {}).map(([value, { display_name: text }]) => ({ value, text }));

const NOTHING: Picked = { device: '', name: '' };

function unitOf({ device: slug, name }: Picked): string {
  return liveDevice(slug)?.manifest?.telemetry[name]?.unit ?? '';
}

/** Watts in one unit of the value: meters of larger sites measure in kW. */
const wattsOf = (picked: Picked): number => scaleFactor('W', unitOf(picked)) ?? 1;

/**
 * A command with its arguments; `action` is undefined until it is complete.
 * @param name of the controls
 */
function useCommand(name: string) {
  const [picked, setPicked] = useState(NOTHING);
  const [texts, setTexts] = useState<Texts>({});
  const argumentsOf = ({ device: slug, name: command }: Picked): Declared =>
    liveDevice(slug)?.manifest?.commands[command]?.arguments ?? {};
  const declared = argumentsOf(picked);
  const { values, faults } = typedValues(declared, texts);
  const isWhole = picked.name !== '' && faults.length === 0;
  return {
    action: isWhole ? { device: picked.device, command: picked.name, arguments: values } : undefined,
    fields: (label: string) => (
      <>
        <DevicePart
          label={label}
          what={say.rules.command}
          name={name}
          picked={picked}
          namesOf={commandsOf}
          onPick={(next) => {
            setPicked(next);
            setTexts(initialTexts(argumentsOf(next)));
          }}
        />
        <ArgumentFields declared={declared} texts={texts} onTexts={setTexts} />
      </>
    ),
  };
}

/** The form around the questions: name, resulting script, and the button that creates the rule. */
function Written({
  script,
  suggested,
  children,
}: {
  script: string | undefined;
  suggested: string;
  children: preact.ComponentChildren;
}) {
  const [slug, setSlug] = useState(suggested);
  const making = useAction(async () => {
    await createRule(slug, scriptOf({ slug, code: script ?? '', runtime: 'V3', interval: '' }));
    go(rulePage(slug));
  });
  return (
    <Card>
      <Form action={making} submit={say.rules.makeRule} isIncomplete={script === undefined}>
        {children}
        <InputField {...RULE_NAME} value={slug} onValue={setSlug} />
        {script !== undefined && (
          <details>
            <summary>{say.rules.scriptMade}</summary>
            <Code text={script} />
          </details>
        )}
      </Form>
    </Card>
  );
}

/** The device and value that a rule watches. */
function Watched({ label, picked, onPick }: Pick<PickProps, 'label' | 'picked' | 'onPick'>) {
  return (
    <DevicePart
      label={label}
      what={say.rules.value}
      name="watched"
      picked={picked}
      namesOf={numbersOf}
      onPick={onPick}
    />
  );
}

/** A choice between two. */
function Either({
  label,
  value,
  onValue,
  yes,
  no,
}: {
  label: string;
  value: boolean;
  onValue: (value: boolean) => void;
  yes: string;
  no: string;
}) {
  return (
    <SelectField
      label={label}
      value={value ? 'true' : 'false'}
      onValue={(chosen) => onValue(chosen === 'true')}
      choices={[
        { value: 'true', text: yes },
        { value: 'false', text: no },
      ]}
    />
  );
}

function LimitForm() {
  const [picked, setPicked] = useState(NOTHING);
  const [isAbove, setAbove] = useState(true);
  const { typed, bound } = useTyped(() => ({ limit: '', hold: '60' }));
  const { action, fields } = useCommand('then');
  const { device, name: attribute } = picked;
  const [limit, holdS] = [typedNumber(typed.limit), typedNumber(typed.hold)];
  const script =
    action && attribute !== '' && limit !== undefined && holdS !== undefined
      ? limitScript({ device, attribute, isAbove, limit, holdS, action })
      : undefined;
  return (
    <Written script={script} suggested="limit">
      <Watched label={say.rules.watch} picked={picked} onPick={setPicked} />
      <div class="pair">
        <Either
          label={say.rules.whenItIs}
          value={isAbove}
          onValue={setAbove}
          yes={say.rules.above}
          no={say.rules.below}
        />
        <InputField
          label={[say.rules.limit, unitOf(picked)].filter(Boolean).join(', ')}
          {...DECIMAL}
          {...bound('limit')}
          required
        />
      </div>
      <InputField label={say.rules.seconds} {...DECIMAL_FROM_0} {...bound('hold')} required />
      {fields(say.rules.thenRun)}
    </Written>
  );
}

const DAYS = [
  { value: 'all', text: say.rules.everyDay },
  { value: 'workdays', text: say.rules.workdays },
  { value: 'weekend', text: say.rules.weekend },
] as const;

function TimeForm() {
  const [clock, setClock] = useState('22:00');
  const [days, setDays] = useState<(typeof DAYS)[number]['value']>('all');
  const { action, fields } = useCommand('then');
  return (
    <Written script={action && clock ? timeScript({ clock, days, action }) : undefined} suggested="daily">
      <div class="pair">
        <InputField
          label={say.everywhere.at}
          hint={say.rules.zoneOfSite}
          type="time"
          value={clock}
          onValue={setClock}
          required
          name="clock"
        />
        <SelectField label={say.rules.on} value={days} onValue={setDays} choices={DAYS} />
      </div>
      {fields(say.everywhere.device)}
    </Written>
  );
}

function SurplusForm() {
  const [picked, setPicked] = useState(NOTHING);
  const [isImportPositive, setImportPositive] = useState(true);
  const { typed, bound } = useTyped(() => ({ export: '2000', import: '200', hold: '300' }));
  const on = useCommand('on');
  const off = useCommand('off');
  const [exportW, importW] = [typedNumber(typed.export), typedNumber(typed.import)];
  const holdS = typedNumber(typed.hold);
  const isTyped = exportW !== undefined && importW !== undefined && holdS !== undefined;
  const write = (numbers: { exportW: number; importW: number; holdS: DurationS }): string | undefined =>
    on.action &&
    off.action &&
    surplusScript({
      device: picked.device,
      attribute: picked.name,
      isImportPositive,
      wattsOfOne: wattsOf(picked),
      ...numbers,
      on: on.action,
      off: off.action,
    });
  const script = picked.name !== '' && isTyped ? write({ exportW, importW, holdS }) : undefined;
  return (
    <Written script={script} suggested="surplus">
      <Watched label={say.rules.gridPower} picked={picked} onPick={setPicked} />
      <Either
        label={say.site.positiveMeans}
        value={isImportPositive}
        onValue={setImportPositive}
        yes={say.rules.importing}
        no={say.rules.exporting}
      />
      <div class="pair">
        <InputField label={say.rules.onExporting} {...DECIMAL_FROM_0} {...bound('export')} required />
        <InputField label={say.rules.offImporting} {...DECIMAL_FROM_0} {...bound('import')} required />
      </div>
      <InputField
        label={say.rules.seconds}
        hint={say.rules.cloudsPass}
        {...DECIMAL_FROM_0}
        {...bound('hold')}
        required
      />
      {on.fields(say.rules.onRun)}
      {off.fields(say.rules.offRun)}
    </Written>
  );
}

export function SimpleRule({ kind }: { kind: string }) {
  if (kind === 'limit') return <LimitForm />;
  if (kind === 'time') return <TimeForm />;
  if (kind === 'surplus') return <SurplusForm />;
  return <Empty title={say.rules.noForm} />;
}
