/** Configuration groups of a device, as its manifest declares them. */
import { useEffect, useState } from 'preact/hooks';
import { callFor, path } from '../api.ts';
import { initialTexts, judge, type Texts, typedValues } from '../arguments.ts';
import type { LiveDevice } from '../live.ts';
import { fieldSettings } from '../field-place.ts';
import { ArgumentFields } from '../parts/argument-form.tsx';
import { ConnectionTools } from '../parts/field-scan.tsx';
import { useDevice } from '../parts/whole-device.ts';
import { may } from '../session.ts';
import { AskButton, Awaited, Card, Empty, Form, useAction, useStored } from '../ui.tsx';
import { useTypedOver } from '../ui/typed.ts';
import type { ConfigurationGroup, Device } from '../shapes.ts';
import { say } from '../words/index.ts';

type Values = Record<string, unknown>;

export function ConfigurationTab({ live }: { live: LiveDevice }) {
  const { device, manifest } = useDevice(live);
  const groups = Object.entries(manifest?.configuration ?? {}).filter(([, group]) => may(group.access_level));
  if (groups.length === 0)
    return <Empty title={say.devices.noConfiguration}>{say.devices.noConfigurationText}</Empty>;
  return (
    <div class="columns">
      {groups.map(([name, group]) => (
        <Group device={device} name={name} group={group} key={name} />
      ))}
    </div>
  );
}

function Group({ device, name, group }: { device: Device; name: string; group: ConfigurationGroup }) {
  const address = path`/v3/devices/${device.id}/configuration/${name}`;
  const { answer, error } = useStored(() => callFor<Values>('configuration', 'GET', address), [address]);
  return (
    <Card title={group.display_name}>
      {group.description !== undefined && <p class="hint">{group.description}</p>}
      <Awaited answer={answer} error={error} />
      {answer && (
        <GroupForm
          address={address}
          group={group}
          stored={answer}
          runtimeId={device.communication?.upstream_id}
        />
      )}
    </Card>
  );
}

function GroupForm({
  address,
  group,
  stored,
  runtimeId,
}: {
  address: string;
  group: ConfigurationGroup;
  stored: Values;
  /** Module that talks to the device; undefined: it talks to the gateway by itself. */
  runtimeId: string | undefined;
}) {
  const declared = group.parameters;
  const [saved, setSaved] = useState(stored);
  useEffect(() => setSaved(stored), [stored]);
  const controls = useTypedOver<Texts>(initialTexts(declared, stored));
  const { typed: texts, setTyped: setTexts, beside } = controls;
  const take = (configuration: Values): void => {
    setSaved(configuration);
    controls.take(initialTexts(declared, configuration));
  };
  const saving = useAction(async () => {
    judge(withoutSecrets(group), texts);
    const theirs = await callFor<Values>('configuration', 'GET', address);
    setSaved(theirs);
    const changes = changesOf(group, theirs, beside(initialTexts(declared, theirs)));
    take(await callFor('configuration', 'PATCH', address, changes));
  });
  const settings = runtimeId === undefined ? undefined : fieldSettings(declared, texts);
  return (
    <>
      <Form
        action={saving}
        submit={say.everywhere.save}
        done={say.everywhere.saved}
        isIncomplete={changedNames(group, saved, texts).length === 0}
        buttons={
          <AskButton
            title={say.devices.resetTitle(group.display_name)}
            text={say.devices.resetText}
            confirm={say.devices.reset}
            run={() => callFor<Values>('configuration', 'POST', `${address}/reset_all`).then(take)}
          >
            {say.devices.resetAsking}
          </AskButton>
        }
      >
        <ArgumentFields declared={declared} texts={texts} onTexts={setTexts} keepsSecrets />
      </Form>
      {settings && (
        <ConnectionTools
          settings={settings}
          runtimeId={runtimeId}
          onUnit={(name, unitId) => {
            saving.clear();
            setTexts((before) => ({ ...before, [name]: String(unitId) }));
          }}
        />
      )}
    </>
  );
}

/** Stored secrets are not shown, so an empty field is no fault. */
function withoutSecrets({ parameters }: ConfigurationGroup): ConfigurationGroup['parameters'] {
  return Object.fromEntries(
    Object.entries(parameters).filter(([, parameter]) => parameter.sensitive !== true),
  );
}

/** Parameters whose text differs from the stored value. */
function changedNames({ parameters }: ConfigurationGroup, saved: Values, texts: Texts): string[] {
  const stored = initialTexts(parameters, saved);
  return Object.keys(parameters).filter((name) => (texts[name] ?? '') !== stored[name]);
}

/** Only what was changed: others may change the rest at the same time. */
function changesOf(group: ConfigurationGroup, saved: Values, texts: Texts): { set: Values; reset: string[] } {
  const { values } = typedValues(group.parameters, texts);
  const changed = changedNames(group, saved, texts);
  const set = Object.fromEntries(Object.entries(values).filter(([name]) => changed.includes(name)));
  const isEmptied = (name: string): boolean => (texts[name] ?? '').trim() === '' && saved[name] !== undefined;
  return { set, reset: changed.filter(isEmptied) };
}
