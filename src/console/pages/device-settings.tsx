/** Name, blueprint, connection and end of a device. */
import { useState } from 'preact/hooks';
import { call, path } from '../api.ts';
import { loadDevices, type LiveDevice } from '../live.ts';
import { BlueprintChoice } from '../parts/blueprint-choice.tsx';
import { Connection } from '../parts/connection.tsx';
import { go } from '../route.ts';
import { may } from '../session.ts';
import { AskButton, Card, Fact, Field, Form, Input, Notice, Select, useAction } from '../ui.tsx';
import type { ConnectionConfiguration } from '../shapes.ts';

export function SettingsTab({ live, onChanged }: { live: LiveDevice; onChanged: () => void }) {
  const { device } = live;
  const isOwn = device.type !== 'GATEWAY';
  const hasConnection = /^MQTT_V1_(TLS|PLAINTEXT)$/.test(device.communication?.type ?? '');
  return (
    <div class="columns">
      {may('OWNER') && <NameCard live={live} onChanged={onChanged} />}
      {may('OWNER') && isOwn && <BlueprintCard live={live} onChanged={onChanged} />}
      {may('OWNER') && hasConnection && <ConnectionCard live={live} />}
      <FactsCard live={live} />
      {may('OWNER') && isOwn && <DeleteCard live={live} />}
    </div>
  );
}

function NameCard({ live: { device }, onChanged }: { live: LiveDevice; onChanged: () => void }) {
  const [name, setName] = useState(device.name);
  const [slug, setSlug] = useState(device.slug);
  const action = useAction(async () => {
    await call('PATCH', path`/v3/devices/${device.id}`, { name, slug });
    onChanged();
    if (slug !== device.slug) go(`#/devices/${encodeURIComponent(slug)}/settings`);
  });
  return (
    <Card title="Name">
      <Form
        action={action}
        submit="Save"
        done="Saved."
        isIncomplete={name === device.name && slug === device.slug}
      >
        <Field label="Name">
          <Input value={name} onValue={setName} name="name" required />
        </Field>
        <Field label="Slug" hint="The device's short name in addresses and rules.">
          <Input value={slug} onValue={setSlug} name="slug" required spellcheck={false} />
        </Field>
      </Form>
    </Card>
  );
}

function BlueprintCard({
  live: { device, manifest },
  onChanged,
}: {
  live: LiveDevice;
  onChanged: () => void;
}) {
  const [blueprint, setBlueprint] = useState(device.blueprint_id);
  const action = useAction(async () => {
    await call('POST', path`/v3/devices/${device.id}/assign_blueprint`, { blueprint_id: blueprint });
    onChanged();
  });
  return (
    <Card title="Blueprint">
      <p class="hint">Now: {manifest?.display_name}</p>
      <Form
        action={action}
        submit="Assign"
        done="Assigned."
        isIncomplete={blueprint === device.blueprint_id || blueprint === ''}
      >
        <BlueprintChoice value={blueprint} onValue={setBlueprint} needsScript={device.type === 'LUA'} />
      </Form>
    </Card>
  );
}

function ConnectionCard({ live: { device } }: { live: LiveDevice }) {
  const [protocol, setProtocol] = useState(device.communication?.type === 'MQTT_V1_TLS' ? 'MQTTS' : 'MQTT');
  const [config, setConfig] = useState<ConnectionConfiguration | undefined>(undefined);
  const generate = async (): Promise<void> => {
    const made = await call<{ config: ConnectionConfiguration }>(
      'POST',
      path`/v3/devices/${device.id}/generate_config`,
      { protocol },
    );
    setConfig(made.config);
  };
  if (config)
    return (
      <Card title="Connection">
        <Connection config={config} slug={device.slug} isModule={device.type === 'VIRTUAL_UCM'} />
      </Card>
    );
  return (
    <Card title="Connection">
      <p class="hint">
        New credentials for the device. The old ones end at once, and the device with them is disconnected.
      </p>
      <Field label="Protocol">
        <Select
          value={protocol}
          onValue={setProtocol}
          choices={[
            { value: 'MQTT', text: 'MQTT, user name and password' },
            { value: 'MQTTS', text: 'MQTT over TLS, certificate' },
          ]}
        />
      </Field>
      <div class="actions end">
        <AskButton
          title="Generate a new connection configuration?"
          text={
            <Notice kind="warning">
              <p>{device.name} is disconnected until it has the new one.</p>
            </Notice>
          }
          confirm="Generate"
          run={generate}
        >
          Generate…
        </AskButton>
      </div>
    </Card>
  );
}

function FactsCard({ live: { device } }: { live: LiveDevice }) {
  const { communication, implemented_profiles: profiles } = device;
  return (
    <Card title="Facts">
      <dl class="facts">
        <Fact name="Id">
          <code>{device.id}</code>
        </Fact>
        <Fact name="Connection">{communication?.type}</Fact>
        {communication?.hardware_id !== undefined && (
          <Fact name="Hardware id">
            <code>{communication.hardware_id}</code>
          </Fact>
        )}
        {communication?.upstream_id !== undefined && (
          <Fact name="Runs on">
            <a href={`#/devices/${communication.upstream_id}`}>its module</a>
          </Fact>
        )}
        {profiles.length > 0 && (
          <Fact name="Profiles">
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

function DeleteCard({ live: { device } }: { live: LiveDevice }) {
  const remove = async (): Promise<void> => {
    await call('DELETE', path`/v3/devices/${device.id}`);
    await loadDevices();
    go('#/');
  };
  return (
    <Card title="Delete">
      <p class="hint">
        Takes away the device with its values, logs, executions, configuration and credentials.
      </p>
      <div class="actions end">
        <AskButton
          kind="danger"
          title={`Delete ${device.name}?`}
          text="Its history is deleted with it. This cannot be undone."
          confirm="Delete"
          run={remove}
        >
          Delete…
        </AskButton>
      </div>
    </Card>
  );
}
