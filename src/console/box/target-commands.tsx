/** Commands from a broker: for which devices, and up to which role. */
import { DeviceChoice } from '../parts/device-choice.tsx';
import { Check, type Choice, InputField, SelectField } from '../ui.tsx';
import type { useTyped } from '../ui/typed.ts';
import type { Typed } from './target-typed.ts';
import { say } from '../words/later.ts';

const LEVELS: readonly Choice<Typed['commandLevel']>[] = [
  { value: 'READONLY', text: say.access.readonly },
  { value: 'USER', text: say.targets.user },
  { value: 'OWNER', text: say.targets.owner },
];

export function CommandFields({
  controls: { typed, change, bound },
}: {
  controls: ReturnType<typeof useTyped<Typed>>;
}) {
  return (
    <>
      <Check value={typed.takesCommands} onValue={(takesCommands) => change({ takesCommands })}>
        {say.targets.takesCommands}
      </Check>
      {typed.takesCommands && (
        <>
          <DeviceChoice
            legend={say.targets.toTheseDevices}
            ids={typed.commandDeviceIds}
            onIds={(commandDeviceIds) => change({ commandDeviceIds })}
          />
          <div class="pair">
            <SelectField label={say.targets.theirRole} {...bound('commandLevel')} choices={LEVELS} />
            <InputField
              label={say.targets.commandTopic}
              hint={say.targets.commandTopicHint}
              {...bound('commandTopic')}
              spellcheck={false}
              placeholder="{site}/commands"
            />
          </div>
        </>
      )}
    </>
  );
}
