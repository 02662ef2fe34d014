/** Commands that may come from a broker: for which devices, and up to which role. */
import { DeviceChoice } from '../parts/device-choice.tsx';
import { Check, type Choice, InputField, SelectField, type useTyped } from '../ui.tsx';
import type { Typed } from './target-typed.ts';

const LEVELS: readonly Choice<Typed['commandLevel']>[] = [
  { value: 'READONLY', text: 'Who may only look' },
  { value: 'USER', text: 'User' },
  { value: 'OWNER', text: 'Owner' },
];

export function CommandFields({
  controls: { typed, change, bound },
}: {
  controls: ReturnType<typeof useTyped<Typed>>;
}) {
  return (
    <>
      <Check value={typed.takesCommands} onValue={(takesCommands) => change({ takesCommands })}>
        Commands may come from there
      </Check>
      {typed.takesCommands && (
        <>
          <DeviceChoice
            legend="To these devices"
            ids={typed.commandDeviceIds}
            onIds={(commandDeviceIds) => change({ commandDeviceIds })}
          />
          <div class="pair">
            <SelectField label="Their role" {...bound('commandLevel')} choices={LEVELS} />
            <InputField
              label="Topic of commands"
              hint="Empty: as usual. Requests come and answers go below."
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
