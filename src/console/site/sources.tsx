/** The energy sources of the site: those from device profiles, and those that the owner adds. */
import type { EnergySourcesOnWire } from '../../capabilities/energy/schema.ts';
import { call } from '../api.ts';
import { attributeTitle } from '../format.ts';
import { deviceIds, type LiveDevice, liveDevice, liveDevices } from '../live.ts';
import { may } from '../session.ts';
import {
  Awaited,
  Button,
  Card,
  Form,
  InputField,
  Notice,
  SelectField,
  useAction,
  useStored,
} from '../ui.tsx';
import { useTypedOver } from '../ui/typed.ts';
import { ENERGY_ROLES, type Role, type Source } from './energy.ts';
import { say } from '../words/index.ts';

const PATH = '/v3/site/energy/sources';

interface Answer {
  energy_sources: EnergySourcesOnWire;
}

/** A change of the device resets its attributes. */
const NOTHING_MEASURED = {
  power: null,
  state_of_charge: null,
  energy_forward: null,
  energy_reverse: null,
  power_max_w: null,
};
const NEW: Source = {
  ...NOTHING_MEASURED,
  role: 'grid',
  device_id: '',
  is_inverted: false,
  profile: null,
};

const { delivering, consuming, discharging, charging, importing, exporting } = say.site.doing;
/** Meaning of a positive number, and its meaning where it is inverted. */
const POSITIVE: Readonly<Record<Role, readonly [usual: string, inverted: string]>> = {
  pv: [delivering, consuming],
  generator: [delivering, consuming],
  battery: [discharging, charging],
  grid: [importing, exporting],
  load: [consuming, delivering],
  electrolyser: [consuming, delivering],
  ev_charger: [consuming, delivering],
  heat_pump: [consuming, delivering],
};

export function SourcesCard() {
  const { answer: sources, error } = useStored(() => call<Answer>('GET', PATH));
  // The list names devices: without their names it would be drawn twice and jump.
  const answer = deviceIds.value && sources;
  return (
    <Card title={say.site.energyOfSite} data-test="energy-sources">
      <p class="hint">{say.site.sourcesHint}</p>
      <Awaited answer={answer} error={error} />
      {answer && <SourcesForm answer={answer} />}
    </Card>
  );
}

/** Sources that the owner has added. */
const ownOf = ({ energy_sources: { items } }: Answer): Source[] =>
  items.filter(({ profile }) => profile === null);

function SourcesForm({ answer }: { answer: Answer }) {
  const { items, not_counted: others } = answer.energy_sources;
  const { typed, before, take, beside, change: put } = useTypedOver({ own: ownOf(answer) }, answer);
  const { own } = typed;
  const action = useAction(async () => {
    // The list is stored as a whole.
    const { own: joined } = beside({ own: ownOf(await call<Answer>('GET', PATH)) });
    const body = { items: joined.map(({ profile: _profile, ...item }) => item) };
    take({ own: ownOf(await call<Answer>('PATCH', PATH, body)) });
  });
  const list = (sources: Source[]): void => {
    action.clear();
    put({ own: sources });
  };
  const devices = liveDevices();
  const known = items.filter(
    ({ profile, role }) => profile !== null && !own.some((source) => source.role === role),
  );
  const isReadOnly = !may('OWNER');
  const change = (index: number) => (part: Partial<Source>) =>
    put({ own: own.map((source, place) => (place === index ? { ...source, ...part } : source)) });
  return (
    <Form
      action={action}
      submit={say.everywhere.save}
      done={say.everywhere.saved}
      isIncomplete={JSON.stringify(own) === JSON.stringify(before.own)}
      isReadOnly={isReadOnly}
      buttons={
        <Button onClick={() => list([...own, { ...NEW, device_id: devices[0]?.device.id ?? '' }])}>
          {say.site.addValue}
        </Button>
      }
    >
      {known.length > 0 && (
        <ul class="legend">
          {known.map(({ role, device_id: id, power }) => (
            <li key={`${role} ${id}`}>
              <i class={role} aria-hidden="true" />
              <b>{say.site.role[role]}</b> {nameOf(liveDevice(id), power)}
            </li>
          ))}
        </ul>
      )}
      {others
        .filter(({ role }) => !own.some((source) => source.role === role))
        .map(({ role, device_id: id, counted_device_id: counted }) => (
          <Notice key={`${role} ${id}`} kind="info">
            {say.site.notCounted(
              say.site.role[role],
              nameOf(liveDevice(id), null),
              nameOf(liveDevice(counted), null),
            )}
          </Notice>
        ))}
      {own.map((source, index) => (
        <SourceFields
          key={index}
          source={source}
          devices={devices}
          onChange={change(index)}
          onRemove={() => list(own.filter((_, place) => place !== index))}
        />
      ))}
    </Form>
  );
}

function SourceFields({
  source,
  devices,
  onChange,
  onRemove,
}: {
  source: Source;
  devices: readonly LiveDevice[];
  onChange: (part: Partial<Source>) => void;
  onRemove: () => void;
}) {
  const live = devices.find(({ device }) => device.id === source.device_id);
  const none = { value: '', text: say.values.none };
  const choose = (part: 'power' | 'state_of_charge') => (name: string) =>
    onChange({ [part]: name === '' ? null : name });
  return (
    <div class="energy-source">
      <SelectField
        label={say.everywhere.whatItIs}
        name="role"
        value={source.role}
        onValue={(role) => onChange({ role })}
        choices={ENERGY_ROLES.map((role) => ({ value: role, text: say.site.role[role] }))}
      />
      <SelectField
        label={say.everywhere.device}
        name="device"
        value={source.device_id}
        onValue={(id) => onChange({ ...NOTHING_MEASURED, device_id: id })}
        choices={devices.map(({ device }) => ({ value: device.id, text: device.name }))}
      />
      <SelectField
        label={say.site.power}
        name="power"
        value={source.power ?? ''}
        onValue={choose('power')}
        choices={[{ value: '', text: say.everywhere.choose }, ...attributesOf(live, /^[kM]?W$/)]}
      />
      <SelectField
        label={say.site.positiveMeans}
        name="sign"
        value={String(source.is_inverted)}
        onValue={(value) => onChange({ is_inverted: value === 'true' })}
        choices={[
          { value: 'false', text: POSITIVE[source.role][0] },
          { value: 'true', text: POSITIVE[source.role][1] },
        ]}
      />
      <LargestPower source={source} onChange={onChange} />
      {source.role === 'battery' && (
        <SelectField
          label={say.site.chargeState}
          name="state_of_charge"
          value={source.state_of_charge ?? ''}
          onValue={choose('state_of_charge')}
          choices={[none, ...attributesOf(live, /^%$/)]}
        />
      )}
      <div class="field">
        <Button aria-label={say.everywhere.removeName(say.site.role[source.role])} onClick={onRemove}>
          {say.everywhere.remove}
        </Button>
      </div>
    </div>
  );
}

function LargestPower({
  source: { power_max_w: powerMaxW },
  onChange,
}: {
  source: Source;
  onChange: (part: Partial<Source>) => void;
}) {
  return (
    <InputField
      label={say.site.largestPower}
      name="power_max"
      type="number"
      min={1}
      step="any"
      value={powerMaxW === null ? '' : String(powerMaxW)}
      onValue={(text) => onChange({ power_max_w: text === '' ? null : Number(text) })}
    />
  );
}

/** Numbers of the unit. */
function attributesOf(live: LiveDevice | undefined, unit: RegExp): { value: string; text: string }[] {
  return Object.entries(live?.manifest?.telemetry ?? {})
    .filter(([, attribute]) => /^(float|integer)$/.test(attribute.type) && unit.test(attribute.unit ?? ''))
    .map(([name, attribute]) => ({ value: name, text: attributeTitle(name, attribute) }));
}

function nameOf(live: LiveDevice | undefined, power: string | null): string {
  if (!live) return '';
  const title = power === null ? '' : ` · ${attributeTitle(power, live.manifest?.telemetry[power])}`;
  return `${live.device.name}${title}`;
}
