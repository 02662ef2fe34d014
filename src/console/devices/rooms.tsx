/** Lists of devices by room. */
import { signal } from '@preact/signals';
import { compareNames } from '../by-name.ts';
import { groupBy } from '../group-by.ts';
import type { LiveDevice } from '../live.ts';
import { WALL } from '../route.ts';
import { may } from '../session.ts';
import { Check } from '../ui.tsx';
import { say } from '../words/index.ts';

const REMEMBERED = 'devices-by';
/** Every device of a room is drawn with its values. */
const IN_ROOMS_MAX = 200;

const isByRoom = signal(localStorage.getItem(REMEMBERED) === 'room');

/** Whether the overview has its devices by room; the browser remembers it. */
export function chooseByRoom(byRoom: boolean): void {
  isByRoom.value = byRoom;
  localStorage.setItem(REMEMBERED, byRoom ? 'room' : 'role');
}

const mayBeInRooms = (devices: readonly LiveDevice[]): boolean =>
  devices.length <= IN_ROOMS_MAX && devices.some((live) => roomOf(live) !== '');

/** Whether the overview has these devices by room: it was chosen, and there are rooms. */
export const isInRooms = (devices: readonly LiveDevice[]): boolean => isByRoom.value && mayBeInRooms(devices);

/** The choice between rooms and roles, and the ways to rooms and order, and to the display on a wall. */
export function ListTools({ devices }: { devices: readonly LiveDevice[] }) {
  const isChoice = mayBeInRooms(devices);
  if (devices.length === 0) return null;
  return (
    <div class="filter">
      {isChoice && (
        <Check value={isByRoom.value} onValue={chooseByRoom}>
          {say.devices.byRoom}
        </Check>
      )}
      {may('OWNER') && (
        <a class="button" href="#/devices">
          {say.devices.arrange}
        </a>
      )}
      <a class="button wall-link" href={`#/${WALL}`}>
        {say.devices.wall}
      </a>
    </div>
  );
}

export const roomOf = ({ device }: LiveDevice): string => device.room ?? '';

/** Rooms that devices have, by name. */
export const roomsOf = (devices: readonly LiveDevice[]): string[] =>
  [...new Set(devices.map(roomOf))].filter((room) => room !== '').toSorted(compareNames);

/** By room, those without one last; each keeps the order in which it comes. */
export function inRooms<Item>(
  items: readonly Item[],
  room: (item: Item) => string,
): { room: string; items: Item[] }[] {
  return [...groupBy(items, room)]
    .map(([name, members]) => ({ room: name, items: members as Item[] }))
    .toSorted((a, b) => Number(a.room === '') - Number(b.room === '') || compareNames(a.room, b.room));
}
