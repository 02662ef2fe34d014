/** From nothing to a device with everything it needs to connect. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { call, path } from '../api.ts';
import { typeName } from '../format.ts';
import { loadDevices, deviceIds, liveDevice } from '../live.ts';
import { BlueprintChoice } from '../parts/blueprint-choice.tsx';
import { Connection } from '../parts/connection.tsx';
import { may } from '../session.ts';
import {
  Button,
  Card,
  Empty,
  ErrorNotice,
  Field,
  Form,
  Input,
  Notice,
  PageHead,
  Select,
  useAction,
} from '../ui.tsx';
import type { Provisioned } from '../shapes.ts';

type Kind = 'standalone' | 'lua' | 'module';

const KINDS: readonly [Kind, string, string][] = [
  ['standalone', 'Device with MQTT', 'Connects by itself with its own credentials.'],
  ['lua', 'Lua device', 'A script on a communication module talks to it, by Modbus, HTTP or a serial line.'],
  ['module', 'Communication module', 'A second box that runs Lua devices near the machines.'],
];

interface Done {
  kind: Kind;
  name: string;
  made: Provisioned;
  /** The device is there, but it did not get its blueprint. */
  blueprintError: unknown;
}

export function AddDevicePage() {
  const [kind, setKind] = useState<Kind>('standalone');
  const [done, setDone] = useState<Done | undefined>(undefined);
  if (!may('OWNER'))
    return (
      <Empty title="Only an owner or installer adds devices">
        <a class="button" href="#/">
          To the devices
        </a>
      </Empty>
    );
  return (
    <>
      <PageHead
        title={done ? `${done.name} is there` : 'Add device'}
        back={{ href: '#/', text: 'Devices' }}
      />
      {done ? (
        <DoneCard done={done} onMore={() => setDone(undefined)} />
      ) : (
        <>
          <div class="kinds" role="radiogroup" aria-label="Kind of device">
            {KINDS.map(([name, title, text]) => (
              <label key={name} class="kind-choice">
                <input
                  type="radio"
                  name="kind"
                  value={name}
                  checked={kind === name}
                  onChange={() => setKind(name)}
                />
                <span>
                  <b>{title}</b>
                  <small>{text}</small>
                </span>
              </label>
            ))}
          </div>
          {kind === 'standalone' && <StandaloneForm onDone={setDone} />}
          {kind === 'lua' && <LuaForm onDone={setDone} />}
          {kind === 'module' && <ModuleForm onDone={setDone} />}
        </>
      )}
    </>
  );
}

interface FormProps {
  onDone: (done: Done) => void;
}

function NameField({
  name,
  onName,
  example,
}: {
  name: string;
  onName: (name: string) => void;
  example: string;
}) {
  return (
    <Field label="Name" hint="As people call it. It can be changed later.">
      <Input
        value={name}
        onValue={onName}
        name="name"
        required
        maxLength={255}
        placeholder={example}
        autofocus
      />
    </Field>
  );
}

/** The form of every kind: its fields, what went wrong, the button. */
function NewDevice({
  action,
  submit,
  isIncomplete = false,
  children,
}: {
  action: ReturnType<typeof useAction>;
  submit: string;
  isIncomplete?: boolean;
  children: ComponentChildren;
}) {
  return (
    <Card>
      <Form onSubmit={action.start}>
        {children}
        <ErrorNotice error={action.error} />
        <div class="actions end">
          <Button kind="primary" type="submit" disabled={action.isBusy || isIncomplete}>
            {submit}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function StandaloneForm({ onDone }: FormProps) {
  const [name, setName] = useState('');
  const [blueprint, setBlueprint] = useState('');
  const [protocol, setProtocol] = useState('');
  const action = useAction(async () => {
    const made = await call<Provisioned>('POST', '/v3/provisioning/standalone', {
      name,
      ...(protocol !== '' && { protocol }),
    });
    onDone({ kind: 'standalone', name, made, blueprintError: await assign(made.device_id, blueprint) });
  });
  return (
    <NewDevice action={action} submit="Add device">
      <NameField name={name} onName={setName} example="Battery 1" />
      <BlueprintChoice value={blueprint} onValue={setBlueprint} mayBeNone />
      <Field label="Protocol">
        <Select
          value={protocol}
          onValue={setProtocol}
          choices={[
            { value: '', text: 'The safest that the gateway offers' },
            { value: 'MQTT', text: 'MQTT, user name and password' },
            { value: 'MQTTS', text: 'MQTT over TLS, certificate' },
          ]}
        />
      </Field>
    </NewDevice>
  );
}

/** The credentials are shown once and must not be lost because of a blueprint. */
async function assign(deviceId: string, blueprint: string): Promise<unknown> {
  if (blueprint === '') return undefined;
  try {
    await call('POST', path`/v3/devices/${deviceId}/assign_blueprint`, { blueprint_id: blueprint });
    return undefined;
  } catch (error) {
    return error;
  }
}

function LuaForm({ onDone }: FormProps) {
  const [name, setName] = useState('');
  const [blueprint, setBlueprint] = useState('');
  const [runtime, setRuntime] = useState('');
  const modules = useModules();
  const action = useAction(async () => {
    const made = await call<Provisioned>('POST', '/v3/provisioning/lua_device', {
      name,
      blueprint_id: blueprint,
      runtime_id: runtime || modules[0]?.value,
    });
    onDone({ kind: 'lua', name, made, blueprintError: undefined });
  });
  return (
    <NewDevice action={action} submit="Add device" isIncomplete={blueprint === ''}>
      <NameField name={name} onName={setName} example="Inverter in the shed" />
      <Field label="Runs on">
        <Select value={runtime} onValue={setRuntime} name="runtime" choices={modules} />
      </Field>
      <BlueprintChoice value={blueprint} onValue={setBlueprint} needsScript />
    </NewDevice>
  );
}

/** Where Lua devices can run, the gateway's own module first. */
function useModules(): { value: string; text: string }[] {
  useEffect(() => {
    if (deviceIds.value === undefined) void loadDevices().catch(() => (deviceIds.value = []));
  }, []);
  return (deviceIds.value ?? [])
    .map((id) => liveDevice(id)?.device)
    .filter((device) => device !== undefined)
    .filter(({ type }) => type === 'GATEWAY' || type.endsWith('_UCM'))
    .sort((a, b) => Number(b.type === 'GATEWAY') - Number(a.type === 'GATEWAY'))
    .map(({ id, name, type }) => ({
      value: id,
      text: type === 'GATEWAY' ? 'This gateway' : `${name} (${typeName(type)})`,
    }));
}

/** As programs of the interface's SDK make them: V and 32 hexadecimal digits. */
function newHardwareId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `V${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase()}`;
}

function ModuleForm({ onDone }: FormProps) {
  const [name, setName] = useState('');
  const [hardwareId, setHardwareId] = useState(newHardwareId);
  const action = useAction(async () => {
    const made = await call<Provisioned>('POST', '/v3/provisioning/vucm', { name, hardware_id: hardwareId });
    onDone({ kind: 'module', name, made, blueprintError: undefined });
  });
  return (
    <NewDevice action={action} submit="Add module">
      <NameField name={name} onName={setName} example="Module in the cellar" />
      <Field label="Hardware id" hint="8 to 64 letters or digits; the one given here is new.">
        <Input
          value={hardwareId}
          onValue={setHardwareId}
          name="hardware_id"
          required
          pattern="[A-Za-z0-9]{8,64}"
        />
      </Field>
    </NewDevice>
  );
}

function DoneCard({ done: { kind, made, blueprintError }, onMore }: { done: Done; onMore: () => void }) {
  const address = `#/devices/${encodeURIComponent(made.slug)}`;
  return (
    <Card data-test="provisioned">
      {blueprintError !== undefined && (
        <>
          <ErrorNotice error={blueprintError} />
          <p class="hint">The device is there without a blueprint; assign one on its page.</p>
        </>
      )}
      {made.config ? (
        <Connection config={made.config} slug={made.slug} isModule={kind === 'module'} />
      ) : (
        <Notice kind="success">
          <p>
            {kind === 'lua'
              ? 'Its script starts on the module by itself. What it needs to know is under Configuration on its page.'
              : 'The module is known already; nothing new was made.'}
          </p>
        </Notice>
      )}
      <div class="actions end">
        <Button onClick={onMore}>Add another</Button>
        <a class="button primary" href={address}>
          To the device
        </a>
      </div>
    </Card>
  );
}
