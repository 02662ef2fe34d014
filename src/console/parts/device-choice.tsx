/** Some devices of the site, or none for all of them. */
import { liveDevice, liveDevices } from '../live.ts';
import { say } from '../words/index.ts';

export function DeviceChoice({
  legend = say.devices.ofTheseDevices,
  ids,
  onIds,
}: {
  legend?: string;
  ids: readonly string[];
  onIds: (ids: readonly string[]) => void;
}) {
  const toggle = (id: string): void =>
    onIds(ids.includes(id) ? ids.filter((known) => known !== id) : [...ids, id]);
  return (
    <fieldset class="choices device-choice">
      <legend>{legend}</legend>
      {liveDevices().map(({ device: { id, name } }) => (
        <label key={id}>
          <input type="checkbox" checked={ids.includes(id)} onChange={() => toggle(id)} />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

/** Their names, as few as can be read at a glance. */
export function namesOf(ids: readonly string[]): string {
  const names = ids.map((id) => liveDevice(id)?.device.name ?? say.devices.deviceGone);
  return names.length > 3 ? say.devices.countOf(names.length) : names.join(', ');
}
