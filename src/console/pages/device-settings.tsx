/** Name, blueprint, connection and deletion of a device. */
import { useState } from 'preact/hooks';
import { call, callFor, path, remove } from '../api.ts';
import { changesOf } from '../changes.ts';
import { RoomField } from '../devices/room-field.tsx';
import { loadDevices, type LiveDevice } from '../live.ts';
import { BlueprintChoice } from '../parts/blueprint-choice.tsx';
import { Connection, PROTOCOLS } from '../parts/connection.tsx';
import { useDevice } from '../parts/whole-device.ts';
import { go, route } from '../route.ts';
import { may } from '../session.ts';
import {
  AskButton,
  Button,
  Card,
  ErrorNotice,
  Form,
  InputField,
  Notice,
  SelectField,
  useAction,
  useStored,
} from '../ui.tsx';
import { Fact } from '../ui/page-components.tsx';
import { useTypedOver } from '../ui/typed.ts';
import type { ConnectionConfiguration, Device, LibraryUpdate } from '../shapes.ts';
import { say } from '../words/index.ts';

export function SettingsTab({ live, onChanged }: { live: LiveDevice; onChanged: () => void }) {
  const { device, manifest } = useDevice(live);
  const isOwn = device.type !== 'GATEWAY';
  const hasConnection = /^MQTT_V1_(TLS|PLAINTEXT)$/.test(device.communication?.type ?? '');
  return (
    <div class="columns">
      {may('OWNER') && <NameCard device={device} onChanged={onChanged} />}
      {may('OWNER') && isOwn && <BlueprintCard device={device} manifest={manifest} onChanged={onChanged} />}
      {may('OWNER') && hasConnection && <ConnectionCard device={device} />}
      <FactsCard device={device} />
      {may('OWNER') && isOwn && <DeleteCard device={device} />}
    </div>
  );
}

const namesOf = ({ name, slug, room = '' }: Device) => ({ name, slug, room });

function NameCard({ device, onChanged }: { device: Device; onChanged: () => void }) {
  const { typed, before, take, beside, bound } = useTypedOver(namesOf(device));
  const action = useAction(async () => {
    const address = path`/v3/devices/${device.id}`;
    const theirs = namesOf(await callFor<Device>('device', 'GET', `${address}?expand=room`));
    const wanted = beside(theirs);
    const { name, slug } = await callFor<Device>('device', 'PATCH', address, changesOf(theirs, wanted));
    take({ name, slug, room: wanted.room.trim() });
    // Somebody else may have changed the slug, and this page may show it already.
    const [, shown] = route.value;
    if (shown === slug || shown === device.id) onChanged();
    else go(`#/devices/${encodeURIComponent(slug)}/settings`);
  });
  return (
    <Card title={say.everywhere.name}>
      <Form
        action={action}
        submit={say.everywhere.save}
        done={say.everywhere.saved}
        isIncomplete={Object.keys(changesOf(before, typed)).length === 0}
      >
        <InputField label={say.everywhere.name} {...bound('name')} required />
        <InputField
          label={say.devices.slug}
          hint={say.devices.slugHint}
          {...bound('slug')}
          required
          spellcheck={false}
        />
        <RoomField {...bound('room')} />
      </Form>
    </Card>
  );
}

function BlueprintCard({
  device,
  manifest,
  onChanged,
}: Pick<LiveDevice, 'device' | 'manifest'> & { onChanged: () => void }) {
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const blueprint = chosen ?? device.blueprint_id;
  const action = useAction(async () => {
    await call('POST', path`/v3/devices/${device.id}/assign_blueprint`, { blueprint_id: blueprint });
    onChanged();
  });
  return (
    <Card title={say.everywhere.blueprint}>
      <p class="hint">{say.devices.blueprintNow(manifest?.display_name ?? '')}</p>
      {manifest?.['.library'] !== undefined && <LibraryNews device={device} onChanged={onChanged} />}
      <Form
        action={action}
        submit={say.devices.assign}
        done={say.devices.assigned}
        isIncomplete={blueprint === device.blueprint_id || blueprint === ''}
      >
        <BlueprintChoice value={blueprint} onValue={setChosen} needsScript={device.type === 'LUA'} />
      </Form>
    </Card>
  );
}

const listUpdates = (): Promise<LibraryUpdate[]> => callFor('updates', 'GET', '/v3/library/updates');

/** Changes that a newer template of the library brings, and the button that applies them. */
function LibraryNews({ device, onChanged }: { device: Device; onChanged: () => void }) {
  const { answer } = useStored(listUpdates, [device.id, device.blueprint_id]);
  const update = answer?.find(({ device_id: id }) => id === device.id);
  const taking = useAction(async () => {
    if (!update) return;
    const { blueprint } = await call<{ blueprint: { id: string } }>(
      'POST',
      path`/v3/library/devices/${update.template_id}/blueprint`,
      { parameters: update.parameters },
    );
    await call('POST', path`/v3/devices/${device.id}/assign_blueprint`, { blueprint_id: blueprint.id });
    onChanged();
  });
  if (!update) return null;
  const changes = (
    [
      [say.devices.newValues, [...update.values_added, ...update.commands_added]],
      [say.devices.goneValues, [...update.values_removed, ...update.commands_removed]],
      [say.devices.otherValues, update.values_changed],
    ] as const
  ).filter(([, names]) => names.length > 0);
  return (
    <Notice kind="warning">
      <p>{say.devices.libraryIsNewer}</p>
      {changes.map(([title, names]) => (
        <p key={title}>
          {title}: {names.join(', ')}
        </p>
      ))}
      <Button disabled={taking.isBusy} onClick={() => void taking.start()}>
        {say.devices.takeFromLibrary}
      </Button>
      <ErrorNotice error={taking.error} />
    </Notice>
  );
}

function ConnectionCard({ device }: { device: Device }) {
  const [chosen, setProtocol] = useState<string | undefined>(undefined);
  const protocol = chosen ?? (device.communication?.type === 'MQTT_V1_TLS' ? 'MQTTS' : 'MQTT');
  const [config, setConfig] = useState<ConnectionConfiguration | undefined>(undefined);
  const generate = async (): Promise<void> => {
    const address = path`/v3/devices/${device.id}/generate_config`;
    setConfig(await callFor<ConnectionConfiguration>('config', 'POST', address, { protocol }));
  };
  if (config)
    return (
      <Card title={say.everywhere.connection}>
        <Connection config={config} slug={device.slug} isModule={device.type === 'VIRTUAL_UCM'} />
      </Card>
    );
  return (
    <Card title={say.everywhere.connection}>
      <p class="hint">{say.devices.newCredentials}</p>
      <SelectField
        label={say.everywhere.protocol}
        value={protocol}
        onValue={setProtocol}
        choices={PROTOCOLS}
      />
      <div class="actions end">
        <AskButton
          title={say.devices.generateTitle}
          text={<Notice kind="warning">{say.devices.generateText(device.name)}</Notice>}
          confirm={say.devices.generate}
          run={generate}
        >
          {say.devices.generateAsking}
        </AskButton>
      </div>
    </Card>
  );
}

function FactsCard({ device }: { device: Device }) {
  const { communication, implemented_profiles: profiles } = device;
  return (
    <Card title={say.devices.facts}>
      <dl class="facts">
        <Fact name={say.devices.id}>
          <code>{device.id}</code>
        </Fact>
        <Fact name={say.everywhere.connection}>
          {communication && say.devices.reachedBy[communication.type]}
        </Fact>
        {communication?.hardware_id !== undefined && (
          <Fact name={say.everywhere.hardwareId}>
            <code>{communication.hardware_id}</code>
          </Fact>
        )}
        {communication?.upstream_id !== undefined && (
          <Fact name={say.devices.runsOn}>
            <a href={`#/devices/${communication.upstream_id}`}>{say.devices.itsModule}</a>
          </Fact>
        )}
        {profiles.length > 0 && (
          <Fact name={say.devices.profiles}>
            <details>
              <summary>{profiles.length}</summary>
              {profiles.join(', ')}
            </details>
          </Fact>
        )}
      </dl>
    </Card>
  );
}

function DeleteCard({ device }: { device: Device }) {
  const end = async (): Promise<void> => {
    await remove(path`/v3/devices/${device.id}`, () => go('#/'));
    await loadDevices();
  };
  return (
    <Card title={say.everywhere.delete}>
      <p class="hint">{say.devices.deleteHint}</p>
      <div class="actions end">
        <AskButton
          kind="danger"
          title={say.everywhere.deleteTitle(device.name)}
          text={say.devices.deleteText}
          confirm={say.everywhere.delete}
          run={end}
        >
          {say.everywhere.deleteAsking}
        </AskButton>
      </div>
    </Card>
  );
}
