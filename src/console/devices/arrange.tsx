/** The order of all devices, and their rooms. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { call, path } from '../api.ts';
import { deviceIds, liveDevices, loadDevices, type LiveDevice, statusVersion } from '../live.ts';
import { isOfBox } from '../translated-manifest.ts';
import { Card, Empty, ErrorNotice, Loading, PageHead, useAction } from '../ui.tsx';
import { adoptStyles } from '../ui/late-styles.ts';
import { say } from '../words/later.ts';
import styles from './arrange.css' with { type: 'text' };
import { RoomInput } from './room-field.tsx';
import { roomOf } from './rooms.tsx';

const BACK = { href: '#/', text: say.frame.overview };

type Way = 'up' | 'down';

adoptStyles(styles);

export function ArrangePage() {
  void statusVersion.value;
  const reading = useAction(loadDevices);
  // Changes of a known list arrive by the stream.
  useEffect(() => {
    if (deviceIds.value === undefined) void reading.start();
  }, []);
  const devices = liveDevices().filter(({ device }) => !isOfBox(device));
  const [moved, setMoved] = useState<{ id: string; way: Way } | undefined>(undefined);
  const list = useRef<HTMLUListElement>(null);
  const moving = useAction(async (live: LiveDevice, way: Way) => {
    const neighbour = devices[devices.indexOf(live) + (way === 'up' ? -1 : 1)];
    if (neighbour?.device.position === undefined) return;
    await call('PATCH', path`/v3/devices/${live.device.id}`, { position: neighbour.device.position });
    await loadDevices();
    setMoved({ id: live.device.id, way });
  });
  // The row has another place in the document, which takes the focus from its buttons.
  useLayoutEffect(() => {
    if (!moved) return;
    const buttons = list.current?.querySelectorAll<HTMLButtonElement>(`[data-device="${moved.id}"] button`);
    const wanted = [...(buttons ?? [])].toSorted((a) => (a.dataset['way'] === moved.way ? -1 : 1));
    wanted.find((button) => !button.disabled)?.focus();
  }, [moved]);
  const place = devices.findIndex(({ device }) => device.id === moved?.id);
  return (
    <>
      <PageHead title={say.arranging.title} back={BACK} />
      <ErrorNotice error={reading.error ?? moving.error} />
      <p class="hint" role="status">
        {devices[place] && say.arranging.placeNow(devices[place].device.name, place + 1, devices.length)}
      </p>
      {deviceIds.value === undefined && !reading.error && <Loading />}
      {deviceIds.value !== undefined && devices.length === 0 && <Empty title={say.devices.noneYet} />}
      {devices.length > 0 && (
        <Card>
          <p class="hint">{say.arranging.hint}</p>
          <ul class="rows arranged" ref={list}>
            {devices.map((live, index) => (
              <Row
                key={live.device.id}
                live={live}
                isFirst={index === 0}
                isLast={index === devices.length - 1}
                move={(way) => void moving.start(live, way)}
              />
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}

function Row({
  live,
  isFirst,
  isLast,
  move,
}: {
  live: LiveDevice;
  isFirst: boolean;
  isLast: boolean;
  move: (way: Way) => void;
}) {
  void live.version.value;
  const { id, name, slug } = live.device;
  const stored = roomOf(live);
  const [typed, setTyped] = useState(stored);
  useEffect(() => setTyped(stored), [stored]);
  const saving = useAction(async () => {
    if (typed.trim() === stored) return;
    await call('PATCH', path`/v3/devices/${id}`, { room: typed });
    await loadDevices();
  });
  const button = (way: Way, isAtEnd: boolean, sign: string, label: string) => (
    <button
      type="button"
      class="button plain"
      data-way={way}
      disabled={isAtEnd}
      aria-label={label}
      onClick={() => move(way)}
    >
      {sign}
    </button>
  );
  return (
    <li data-device={id}>
      <span>
        <a class="name" dir="auto" href={`#/devices/${encodeURIComponent(slug)}`}>
          {name}
        </a>
      </span>
      <RoomInput
        value={typed}
        onValue={setTyped}
        onChange={() => void saving.start()}
        placeholder={say.devices.room}
        aria-label={say.arranging.roomOf(name)}
      />
      <div class="actions">
        {button('up', isFirst, '↑', say.arranging.up(name))}
        {button('down', isLast, '↓', say.arranging.down(name))}
      </div>
      <ErrorNotice error={saving.error} />
    </li>
  );
}
