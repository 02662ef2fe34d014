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
  const devices = liveDevices().map(({ device: { id, name } }) => ({ id, name }));
  // Shown so that it can be removed.
  const gone = ids.filter((id) => devices.length > 0 && devices.every((device) => device.id !== id));
  return (
    <fieldset class="choices device-choice">
      <legend>{legend}</legend>
      {[...devices, ...gone.map((id) => ({ id, name: say.devices.deviceGone }))].map(({ id, name }) => (
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
