/** The forms for the name and the runtime of a new device or module. */
import { useEffect, useState } from 'preact/hooks';
import { call, path } from '../api.ts';
import { typeName } from '../format.ts';
import { deviceIds, liveDevices, loadDevices } from '../live.ts';
import { Button, Card, Form, InputField, SelectField, useAction } from '../ui.tsx';
import { PROTOCOLS } from '../parts/connection.tsx';
import type { Blueprint, ConnectionConfiguration, Provisioned } from '../shapes.ts';
import { type, typed } from '../new-device.ts';
import { say } from '../words/later.ts';

export interface Made {
  id: string;
  slug: string;
  name: string;
  /** Its credentials, shown once. */
  config: ConnectionConfiguration | undefined;
  /** A script on a module talks to it. */
  hasScript: boolean;
  isModule: boolean;
  /** The device is there, but it did not get its blueprint. */
  blueprintError: unknown;
  /** The device is there, but it did not take its settings. */
  configurationError?: unknown;
}

/** The result of provisioning. */
export function madeOf(name: string, { device_id: id, slug, config }: Provisioned): Made {
  return { id, slug, name, config, hasScript: false, isModule: false, blueprintError: undefined };
}

/** @param blueprint undefined: none yet */
export function DeviceForm({
  blueprint,
  onBack,
  onMade,
}: {
  blueprint: Blueprint | undefined;
  onBack: () => void;
  onMade: (made: Made) => void;
}) {
  const { name, runtime, protocol } = typed.value;
  const modules = useModules();
  const hasScript = blueprint?.has_script === true;
  const place = runtime || modules[0]?.value;
  const action = useAction(async () => {
    const made = hasScript
      ? await call<Provisioned>('POST', '/v3/provisioning/lua_device', {
          name,
          blueprint_id: blueprint.id,
          runtime_id: place,
        })
      : await call<Provisioned>('POST', '/v3/provisioning/standalone', {
          name,
          ...(protocol !== '' && { protocol }),
        });
    const blueprintError = hasScript ? undefined : await assign(made.device_id, blueprint?.id ?? '');
    onMade({ ...madeOf(name, made), hasScript, blueprintError });
  });
  return (
    <Card title={blueprint?.display_name ?? say.adding.withoutBlueprint}>
      <Form
        action={action}
        submit={say.devices.addDevice}
        isKept
        buttons={<Button onClick={onBack}>{say.adding.anotherBlueprint}</Button>}
      >
        <InputField
          {...NAME}
          value={name}
          onValue={(value) => type({ name: value })}
          placeholder={say.adding.exampleDevice}
        />
        {hasScript ? (
          <SelectField
            label={say.devices.runsOn}
            hint={say.adding.runsOnHint}
            value={place ?? ''}
            onValue={(value) => type({ runtime: value })}
            name="runtime"
            choices={modules}
          />
        ) : (
          <SelectField
            label={say.everywhere.protocol}
            value={protocol}
            onValue={(value) => type({ protocol: value })}
            choices={[{ value: '', text: say.adding.safest }, ...PROTOCOLS]}
          />
        )}
      </Form>
    </Card>
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

/** Attributes of the control for the name of a new device or module. */
export const NAME = {
  label: say.everywhere.name,
  hint: say.adding.nameHint,
  name: 'name',
  required: true,
  maxLength: 255,
  autofocus: true,
};

/** Where Lua devices can run, the gateway's own module first. */
export function useModules(): { value: string; text: string }[] {
  useEffect(() => {
    if (deviceIds.value === undefined) void loadDevices().catch(() => (deviceIds.value = []));
  }, []);
  return liveDevices()
    .map(({ device }) => device)
    .filter(({ type: kind }) => kind === 'GATEWAY' || kind.endsWith('_UCM'))
    .sort((a, b) => Number(b.type === 'GATEWAY') - Number(a.type === 'GATEWAY'))
    .map(({ id, name, type: kind }) => ({
      value: id,
      text: kind === 'GATEWAY' ? say.adding.thisGateway : `${name} (${typeName(kind)})`,
    }));
}

/** In the format of the interface's SDK: V and 32 hexadecimal digits. */
function newHardwareId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `V${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase()}`;
}

export function ModuleForm({ onMade }: { onMade: (made: Made) => void }) {
  const [name, setName] = useState('');
  const [hardwareId, setHardwareId] = useState(newHardwareId);
  const action = useAction(async () => {
    const made = await call<Provisioned>('POST', '/v3/provisioning/vucm', { name, hardware_id: hardwareId });
    onMade({ ...madeOf(name, made), isModule: true });
  });
  return (
    <Card title={say.adding.secondBox}>
      <Form action={action} submit={say.adding.addModule}>
        <InputField {...NAME} value={name} onValue={setName} placeholder={say.adding.exampleModule} />
        <InputField
          label={say.everywhere.hardwareId}
          hint={say.adding.hardwareIdHint}
          value={hardwareId}
          onValue={setHardwareId}
          name="hardware_id"
          required
          pattern="[A-Za-z0-9]{8,64}"
        />
      </Form>
    </Card>
  );
}
