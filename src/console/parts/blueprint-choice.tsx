/** Which blueprint: those that the gateway has, or a new one. */
import { useEffect } from 'preact/hooks';
import { call } from '../api.ts';
import { momentText } from '../format.ts';
import { ErrorNotice, Field, Select, useAnswer } from '../ui.tsx';
import type { Blueprint } from '../shapes.ts';

export function listBlueprints(): Promise<Blueprint[]> {
  return call<{ blueprints: Blueprint[] }>('GET', '/v3/blueprints').then(({ blueprints }) => blueprints);
}

/** The gateway's own blueprint fits no other device. */
function isForDevices({ name }: Blueprint): boolean {
  return name !== 'gateway';
}

export function BlueprintChoice({
  value,
  onValue,
  needsScript = false,
  mayBeNone = false,
}: {
  value: string;
  onValue: (id: string) => void;
  needsScript?: boolean;
  mayBeNone?: boolean;
}) {
  const { answer, error } = useAnswer(listBlueprints, []);
  const fitting = (answer ?? []).filter(
    (blueprint) => isForDevices(blueprint) && (!needsScript || blueprint.has_script),
  );
  useEffect(() => {
    const [only] = fitting;
    if (value === '' && !mayBeNone && only) onValue(only.id);
  }, [answer]);
  const choices = fitting.map(({ id, display_name: name, source, created_at: at }) => ({
    value: id,
    text: source === 'BUILT_IN' ? `${name} (built in)` : `${name} (uploaded ${momentText(at)})`,
  }));
  return (
    <>
      <Field
        label="Blueprint"
        hint={
          <>
            Says what the device measures and can do. <a href="#/blueprints">Upload another one</a>
          </>
        }
      >
        <Select
          value={value}
          onValue={onValue}
          name="blueprint"
          required={!mayBeNone}
          choices={[
            ...(mayBeNone ? [{ value: '', text: 'None yet: what the device sends is not recorded' }] : []),
            ...choices,
          ]}
        />
      </Field>
      {answer && fitting.length === 0 && needsScript && (
        <p class="hint">No blueprint with a Lua script yet; upload one first.</p>
      )}
      <ErrorNotice error={error} />
    </>
  );
}
