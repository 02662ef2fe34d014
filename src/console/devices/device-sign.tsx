/** A device's drawing in the colour of its role. */
import { iconOf, roleOfIcon } from './icons.ts';
import type { Place } from './roles.ts';
import type { LiveDevice } from '../live.ts';

/** As its blueprint draws it, as far as the site does not count it. */
export const placeShown = ({ manifest }: Pick<LiveDevice, 'manifest'>, place: Place): Place =>
  place === 'other' ? (roleOfIcon(iconNameOf(manifest)) ?? place) : place;

const iconNameOf = (manifest: LiveDevice['manifest']): string | undefined => {
  const icon = manifest?.['icon'];
  return typeof icon === 'string' ? icon : undefined;
};

export function DeviceSign({ live, place }: { live: LiveDevice; place: Place }) {
  const shown = placeShown(live, place);
  const icon = iconOf(iconNameOf(live.manifest), shown, live.device.name);
  return (
    <span class={`device-sign ${shown}`} aria-hidden="true">
      {'path' in icon ? (
        <svg viewBox="0 0 24 24">
          <path d={icon.path} />
        </svg>
      ) : (
        icon.letter
      )}
    </span>
  );
}
