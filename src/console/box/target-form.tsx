/** The form of a telemetry target, new or existing. */
import { liveDevice } from '../live.ts';
import { DeviceChoice } from '../parts/device-choice.tsx';
import type { Target } from '../shapes.ts';
import { Check, type Choice, Field, Form, InputField, SecretField, SelectField } from '../ui.tsx';
import { useItemForm, type useTyped } from '../ui/typed.ts';
import { CommandFields } from './target-commands.tsx';
import { bodyOf, takesNewestFirst, type Typed, typedOf } from './target-typed.ts';
import { DECIMAL_FROM_0 } from '../typed-number.ts';
import { say } from '../words/later.ts';

const KINDS: readonly Choice<Typed['kind']>[] = [
  { value: 'INFLUXDB', text: say.targets.database },
  { value: 'MQTT', text: say.targets.broker },
  { value: 'FOLDER', text: say.targets.files },
];
const FORMS: readonly Choice<Typed['form']>[] = [
  { value: 'PLAIN', text: say.targets.formPlain },
  { value: 'HOME_ASSISTANT', text: say.targets.formHomeAssistant },
  { value: 'SPARKPLUG_B', text: say.targets.formSparkplug },
];
const TOPIC_LABELS: Readonly<Record<Typed['form'], string>> = {
  PLAIN: say.targets.topic,
  HOME_ASSISTANT: say.targets.topicsBegin,
  SPARKPLUG_B: say.targets.group,
};
const TOKEN_SCHEMES: readonly Choice<Typed['tokenScheme']>[] = [
  { value: 'Token', text: say.targets.token },
  { value: 'Bearer', text: say.targets.bearer },
];

const BACKLOG_ORDERS: readonly Choice<Typed['backlogOrder']>[] = [
  { value: 'OLDEST_FIRST', text: say.targets.oldestFirst },
  { value: 'NEWEST_FIRST', text: say.targets.newestFirst },
];

interface PartProps {
  controls: ReturnType<typeof useTyped<Typed>>;
  target: Target | undefined;
}

const idOf = (name: string): string => liveDevice(name)?.device.id ?? name;

export function TargetForm({ target, onDone }: { target?: Target; onDone: () => void }) {
  const { controls, action } = useItemForm({
    address: '/v3/targets',
    stored: target,
    typedOf: (stored) => typedOf(stored, idOf),
    bodyOf,
    onDone,
  });
  const { typed, bound } = controls;
  return (
    <Form action={action} submit={target ? say.everywhere.save : say.everywhere.add} onCancel={onDone}>
      {!target && <SelectField label={say.everywhere.whatItIs} {...bound('kind')} choices={KINDS} />}
      <InputField
        label={say.everywhere.name}
        isMarked
        {...bound('name')}
        placeholder={say.targets.exampleName}
      />
      <PlaceFields controls={controls} target={target} />
      <SelectionFields controls={controls} target={target} />
      {typed.kind === 'MQTT' && <CommandFields controls={controls} />}
      <MoreFields controls={controls} target={target} />
    </Form>
  );
}

function PlaceFields(props: PartProps) {
  const { bound, typed } = props.controls;
  if (typed.kind !== 'FOLDER') return <EngineFields {...props} />;
  return (
    <div class="pair">
      <InputField
        label={say.targets.folder}
        isMarked
        hint={say.targets.folderHint}
        {...bound('url')}
        spellcheck={false}
        placeholder="/media/stick"
      />
      <InputField
        label={say.targets.pieceMinutes}
        hint={say.targets.asUsual}
        type="number"
        min={1}
        {...bound('pieceMinutes')}
      />
    </div>
  );
}

function EngineFields({ controls: { typed, change, bound }, target }: PartProps) {
  const isDatabase = typed.kind === 'INFLUXDB';
  return (
    <>
      <InputField
        label={say.everywhere.address}
        isMarked
        hint={isDatabase ? say.targets.writeCall : say.targets.mqttsHint}
        {...bound('url')}
        spellcheck={false}
        placeholder={isDatabase ? 'http://metrics.example:8428/write' : 'mqtts://broker.example:8883'}
      />
      <div class="pair">
        <InputField
          label={say.everywhere.userName}
          hint={isDatabase ? say.targets.withToken : say.alerts.withoutLogin}
          {...bound('username')}
          autocomplete="off"
        />
        <SecretField
          label={isDatabase ? say.targets.tokenOrPassword : say.everywhere.password}
          isKept={target?.influxdb?.has_secret ?? target?.mqtt?.has_secret}
          {...bound('secret')}
        />
      </div>
      {!isDatabase && (
        <SelectField
          label={say.targets.messages}
          {...bound('form')}
          // The topic of one form means something else in another.
          onValue={(form) => change({ form, topic: '' })}
          choices={FORMS}
        />
      )}
    </>
  );
}

function SelectionFields({ controls: { typed, change, bound }, target }: PartProps) {
  return (
    <>
      <DeviceChoice ids={typed.deviceIds} onIds={(chosen) => change({ deviceIds: chosen })} />
      <InputField
        label={say.everywhere.values}
        hint={say.targets.valuesHint}
        {...bound('attributes')}
        spellcheck={false}
      />
      <InputField
        label={say.targets.atMostOne}
        hint={say.targets.atMostOneHint}
        type="number"
        min={0}
        max={86_400}
        {...bound('intervalS')}
      />
      <Check value={typed.isOnChange} onValue={(isOnChange) => change({ isOnChange })}>
        {say.targets.onlyChanges}
      </Check>
      {takesNewestFirst(typed) && (
        <SelectField
          label={say.targets.afterOutage}
          hint={say.targets.afterOutageHint}
          {...bound('backlogOrder')}
          choices={BACKLOG_ORDERS}
        />
      )}
      {!target && (
        <InputField
          label={say.targets.storedSince}
          hint={say.targets.storedSinceHint}
          type="date"
          {...bound('historyFrom')}
        />
      )}
    </>
  );
}

/** Settings that few need. */
function MoreFields({ controls, target }: PartProps) {
  const { typed, bound } = controls;
  if (typed.kind === 'FOLDER') return null;
  const isMqtt = typed.kind === 'MQTT';
  return (
    <details class="more">
      <summary>{say.frame.more}</summary>
      {isMqtt ? (
        <MessageFields controls={controls} target={target} />
      ) : (
        <div class="pair">
          <InputField label={say.targets.measurement} {...bound('measurement')} />
          <SelectField label={say.targets.tokenSentAs} {...bound('tokenScheme')} choices={TOKEN_SCHEMES} />
        </div>
      )}
      <InputField
        label={say.targets.atMostKb}
        hint={say.targets.asUsual}
        {...DECIMAL_FROM_0}
        {...bound('kilobytesPerSecond')}
      />
      <Pem label={say.targets.authorities} {...bound('caPem')} />
      {isMqtt && (
        <>
          <Pem label={say.targets.certificateThere} hint={say.targets.pem} {...bound('certificatePem')} />
          <Pem
            label={say.targets.itsKey}
            hint={target?.mqtt?.has_private_key === true ? say.targets.keyKept : say.targets.pem}
            {...bound('privateKeyPem')}
          />
        </>
      )}
    </details>
  );
}

function MessageFields({ controls: { typed, change, bound } }: PartProps) {
  return (
    <>
      <InputField
        label={TOPIC_LABELS[typed.form]}
        hint={typed.form === 'PLAIN' ? say.targets.filledIn : say.targets.asUsual}
        {...bound('topic')}
        spellcheck={false}
      />
      {typed.form === 'SPARKPLUG_B' && (
        <InputField
          label={say.targets.hostApplication}
          hint={say.targets.hostApplicationHint}
          {...bound('hostId')}
          spellcheck={false}
        />
      )}
      {typed.form === 'PLAIN' && (
        <>
          <InputField
            label={say.targets.message}
            hint={say.targets.messageHint}
            {...bound('payload')}
            spellcheck={false}
          />
          <Check value={typed.isRetained} onValue={(isRetained) => change({ isRetained })}>
            {say.targets.retain}
          </Check>
        </>
      )}
    </>
  );
}

function Pem({
  label,
  hint = say.targets.pemOrSystem,
  name,
  value,
  onValue,
}: {
  label: string;
  hint?: string;
  name: string;
  value: string;
  onValue: (value: string) => void;
}) {
  return (
    <Field label={label} hint={hint}>
      <textarea
        name={name}
        rows={3}
        spellcheck={false}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    </Field>
  );
}
