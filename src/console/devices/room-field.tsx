/** The choice of a room. */
import { useId } from 'preact/hooks';
import { liveDevices } from '../live.ts';
import { Field, Input } from '../ui.tsx';
import { say } from '../words/later.ts';
import { roomsOf } from './rooms.tsx';

interface RoomProps {
  value: string;
  onValue: (value: string) => void;
  [attribute: string]: unknown;
}

/** A room, with those that other devices have as suggestions. */
export function RoomInput(props: RoomProps) {
  const id = useId();
  return (
    <>
      <Input list={id} autocomplete="off" maxLength={255} {...props} />
      <datalist id={id}>
        {roomsOf(liveDevices()).map((room) => (
          <option key={room} value={room} />
        ))}
      </datalist>
    </>
  );
}

/** The same with its label. */
export function RoomField(props: RoomProps) {
  return (
    <Field label={say.devices.room} hint={say.arranging.roomHint}>
      <RoomInput {...props} />
    </Field>
  );
}
