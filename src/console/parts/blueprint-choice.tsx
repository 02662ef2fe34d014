/** Which blueprint: those that the gateway has, or a new one. */
import { useEffect } from 'preact/hooks';
import { callFor } from '../api.ts';
import { momentText } from '../format.ts';
import { ErrorNotice, SelectField, useStored } from '../ui.tsx';
import type { Blueprint } from '../shapes.ts';
import { say } from '../words/later.ts';

export const listBlueprints = (): Promise<Blueprint[]> => callFor('blueprints', 'GET', '/v3/blueprints');

/** The gateway's own blueprint fits no other device. */
function isForDevices({ name }: Blueprint): boolean {
  return name !== 'gateway';
}

export function BlueprintChoice({
  value,
  onValue,
  needsScript,
}: {
  value: string;
  onValue: (id: string) => void;
  needsScript: boolean;
}) {
  const { answer, error } = useStored(listBlueprints);
  const fitting = (answer ?? []).filter(
    (blueprint) => isForDevices(blueprint) && (!needsScript || blueprint.has_script),
  );
  useEffect(() => {
    const [only] = fitting;
    if (value === '' && only) onValue(only.id);
  }, [answer]);
  const choices = fitting.map(({ id, display_name: name, origin, version, created_at: at }) => ({
    value: id,
    text:
      origin === 'BUILT_IN'
        ? say.adding.isBuiltIn(name)
        : say.adding.isUploaded(`${name}, ${say.adding.version(version)}`, momentText(at)),
  }));
  return (
    <>
      <SelectField
        label={say.everywhere.blueprint}
        hint={
          <>
            {say.adding.saysWhat} <a href="#/blueprints">{say.adding.uploadAnother}</a>
          </>
        }
        value={value}
        onValue={onValue}
        name="blueprint"
        required
        choices={choices}
      />
      {answer && fitting.length === 0 && needsScript && <p class="hint">{say.adding.noneWithScript}</p>}
      <ErrorNotice error={error} />
    </>
  );
}
