/** A target of telemetry, a new one or another form of one. */
import { call, path } from '../api.ts';
import { deviceIds, liveDevice } from '../live.ts';
import { DeviceChoice } from '../parts/device-choice.tsx';
import type { Target } from '../shapes.ts';
import {
  Check,
  type Choice,
  Field,
  Form,
  InputField,
  SecretField,
  SelectField,
  useAction,
  useTyped,
} from '../ui.tsx';
import { CommandFields } from './target-commands.tsx';
import { bodyOf, type Typed, typedOf } from './target-typed.ts';

const KINDS: readonly Choice<Typed['kind']>[] = [
  { value: 'INFLUXDB', text: 'Database (InfluxDB, VictoriaMetrics)' },
  { value: 'MQTT', text: 'MQTT broker, Home Assistant, Sparkplug' },
  { value: 'FOLDER', text: 'Files by day (CSV) on a stick or network drive' },
];
const FORMS: readonly Choice<Typed['form']>[] = [
  { value: 'PLAIN', text: 'Messages of a form that is given below' },
  { value: 'HOME_ASSISTANT', text: 'As Home Assistant discovers them' },
  { value: 'SPARKPLUG_B', text: 'As Sparkplug B, for SCADA' },
];
const TOPIC_LABELS: Readonly<Record<Typed['form'], string>> = {
  PLAIN: 'Topic',
  HOME_ASSISTANT: 'Topics of states begin with',
  SPARKPLUG_B: 'Group',
};
const TOKEN_SCHEMES: readonly Choice<Typed['tokenScheme']>[] = [
  { value: 'Token', text: 'Token' },
  { value: 'Bearer', text: 'Bearer' },
];

interface PartProps {
  controls: ReturnType<typeof useTyped<Typed>>;
  target: Target | undefined;
}

const idOf = (name: string): string =>
  (deviceIds.value ?? []).find((id) => id === name || liveDevice(id)?.device.slug === name) ?? name;

export function TargetForm({ target, onDone }: { target?: Target; onDone: () => void }) {
  const controls = useTyped(() => typedOf(target, idOf));
  const { typed, bound } = controls;
  const action = useAction(async () => {
    const body = bodyOf(typed, target);
    if (target) await call('PATCH', path`/v3/targets/${target.id}`, body);
    else await call('POST', '/v3/targets', body);
    onDone();
  });
  return (
    <Form action={action} submit={target ? 'Save' : 'Add'}>
      {!target && <SelectField label="What it is" {...bound('kind')} choices={KINDS} />}
      <InputField label="Name" isMarked {...bound('name')} placeholder="Fleet" />
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
        label="Folder"
        isMarked
        hint="One that is there."
        {...bound('url')}
        spellcheck={false}
        placeholder="/media/stick"
      />
      <InputField
        label="A file every so many minutes"
        hint="Empty: as usual."
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
        label="Address"
        isMarked
        hint={isDatabase ? 'The whole of its write call, with database or bucket.' : 'mqtts: over TLS.'}
        {...bound('url')}
        spellcheck={false}
        placeholder={isDatabase ? 'http://metrics.example:8428/write' : 'mqtts://broker.example:8883'}
      />
      <div class="pair">
        <InputField
          label="User name"
          hint={isDatabase ? 'Empty: with a token.' : 'Empty: without a login.'}
          {...bound('username')}
          autocomplete="off"
        />
        <SecretField
          label={isDatabase ? 'Token or password' : 'Password'}
          isKept={target?.influxdb?.has_secret ?? target?.mqtt?.has_secret}
          {...bound('secret')}
        />
      </div>
      {!isDatabase && (
        <SelectField
          label="Messages"
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
        label="Values"
        hint="Names with commas between them, battery_* for all that begin so; empty: all."
        {...bound('attributes')}
        spellcheck={false}
      />
      <InputField
        label="At most one in so many seconds"
        hint="0: all."
        type="number"
        min={0}
        max={86_400}
        {...bound('intervalS')}
      />
      <Check value={typed.isOnChange} onValue={(isOnChange) => change({ isOnChange })}>
        Only what differs from before
      </Check>
      {!target && (
        <InputField
          label="What is stored since"
          hint="Is sent too; empty: only what comes from now on."
          type="date"
          {...bound('historyFrom')}
        />
      )}
    </>
  );
}

/** What few need. */
function MoreFields({ controls, target }: PartProps) {
  const { typed, bound } = controls;
  if (typed.kind === 'FOLDER') return null;
  const isMqtt = typed.kind === 'MQTT';
  return (
    <details class="more">
      <summary>More</summary>
      {isMqtt ? (
        <MessageFields controls={controls} target={target} />
      ) : (
        <div class="pair">
          <InputField label="Measurement" {...bound('measurement')} />
          <SelectField label="Token is sent as" {...bound('tokenScheme')} choices={TOKEN_SCHEMES} />
        </div>
      )}
      <InputField
        label="At most, kB/s"
        hint="Empty: as usual."
        type="number"
        min={1}
        step="any"
        {...bound('kilobytesPerSecond')}
      />
      <Pem label="Authorities to trust" {...bound('caPem')} />
      {isMqtt && (
        <>
          <Pem label="Certificate of this gateway there" hint="PEM." {...bound('certificatePem')} />
          <Pem
            label="Its key"
            hint={target?.mqtt?.has_private_key === true ? 'One is kept; empty: as it is.' : 'PEM.'}
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
        hint={`Empty: as usual.${typed.form === 'PLAIN' ? ' {site}, {device} and {attribute} are filled in.' : ''}`}
        {...bound('topic')}
        spellcheck={false}
      />
      {typed.form === 'SPARKPLUG_B' && (
        <InputField
          label="Host application"
          hint="Without it nothing is sent; empty: at any time."
          {...bound('hostId')}
          spellcheck={false}
        />
      )}
      {typed.form === 'PLAIN' && (
        <>
          <InputField
            label="Message"
            hint="Empty: JSON with timestamp and values."
            {...bound('payload')}
            spellcheck={false}
          />
          <Check value={typed.isRetained} onValue={(isRetained) => change({ isRetained })}>
            The broker keeps the last one (retain)
          </Check>
        </>
      )}
    </>
  );
}

function Pem({
  label,
  hint = 'PEM; empty: those of the system.',
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
