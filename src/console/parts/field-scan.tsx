/** Tests whether a device answers at its configured address, and scans for devices. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { callFor, callForLines } from '../api.ts';
import type { FieldPlace, FieldSettings, UnitParameter } from '../field-place.ts';
import { type } from '../new-device.ts';
import { may } from '../session.ts';
import type { ConnectionTest, ScanLine } from '../shapes.ts';
import { Button, ErrorNotice, Form, InputField, Notice, useAction } from '../ui.tsx';
import { useTyped } from '../ui/typed.ts';
import { say } from '../words/later.ts';

/** A place, seen from a module. */
interface Place extends FieldPlace {
  runtime_id?: string | undefined;
}

/** Beside settings that say where a device is. @param onUnit takes a unit that was found into the settings */
export function ConnectionTools({
  settings: { place, units },
  runtimeId,
  onUnit,
}: {
  settings: FieldSettings;
  runtimeId: string | undefined;
  onUnit: (name: string, unitId: number) => void;
}) {
  const [tests, setTests] = useState<readonly ConnectionTest[]>([]);
  const where: Place | undefined = place && { ...place, runtime_id: runtimeId };
  const key = JSON.stringify([where, units.map(({ id }) => id)]);
  // Results for another address say nothing about this one.
  useEffect(() => setTests([]), [key]);
  const testing = useAction(async () => {
    setTests([]);
    const ids = new Set(units.length === 0 ? [1] : units.flatMap(({ id }) => id ?? []));
    for (const unitId of ids) {
      const body = { ...where, unit_id: unitId };
      const test = await callFor<ConnectionTest>('test', 'POST', '/v3/modbus/test', body, 'reads');
      setTests((before) => [...before, test]);
      // The other units would fail in the same way.
      if (test.outcome === 'UNREACHABLE' || test.outcome === 'NO_PORT') break;
    }
  });
  if (!may('INSTALLER')) return null;
  return (
    <section class="connection-tools" aria-label={say.devices.isItThere}>
      <div class="actions">
        <Button action={testing} disabled={!where}>
          {testing.isBusy ? say.devices.testing : say.devices.testConnection}
        </Button>
        {!where && <span class="hint">{say.devices.addressFirst}</span>}
        {where && (
          <a class="button" href="#/add/registers" onClick={() => passOn(where, units)}>
            {say.adding.registers.linkBeside}
          </a>
        )}
      </div>
      <ErrorNotice error={testing.error} />
      {tests.map(({ usable, message }) => (
        <Notice kind={usable ? 'success' : 'warning'} key={message}>
          {say.frame.said(message)}
        </Notice>
      ))}
      {where && <FindDevices key={where.uri} place={where} units={units} onUnit={onUnit} />}
    </section>
  );
}

/** The register browser begins with this address. */
function passOn({ uri }: Place, [unit]: readonly UnitParameter[]): void {
  type({ connection: { address: uri, unit_id: unit?.id ?? 1 } });
}

interface Found {
  units: readonly (ScanLine & { type: 'unit' })[];
  asked: number;
  end: string | undefined;
}

const NOTHING: Found = { units: [], asked: 0, end: undefined };

/** Asks one unit after the other; leaving the page stops it. */
function useScan(place: Place) {
  const [found, setFound] = useState<Found>(NOTHING);
  const stopping = useRef<AbortController | undefined>(undefined);
  const stop = (): void => stopping.current?.abort();
  useEffect(() => stop, []);
  const scanning = useAction(async (first: number, last: number) => {
    const { signal } = (stopping.current = new AbortController());
    setFound(NOTHING);
    const body = { ...place, first_unit: first, last_unit: last };
    await callForLines(
      '/v3/modbus/scan',
      body,
      (line: ScanLine) =>
        setFound((before) =>
          line.type === 'end'
            ? { ...before, end: line.outcome === 'COMPLETE' ? undefined : say.frame.said(line.message) }
            : {
                ...before,
                asked: before.asked + 1,
                units: line.outcome === 'SILENT' ? before.units : [...before.units, line],
              },
        ),
      signal,
    );
  });
  return { found, scanning, stop };
}

/** @param units parameters that may take one of those that are found */
export function FindDevices({
  place,
  units = [],
  onUnit = () => undefined,
}: {
  place: Place;
  units?: readonly UnitParameter[];
  onUnit?: (name: string, unitId: number) => void;
}) {
  const { typed, bound } = useTyped(() => ({ first_unit: '1', last_unit: '32' }));
  const { found, scanning, stop } = useScan(place);
  const [first, last] = [Number(typed.first_unit), Number(typed.last_unit)];
  const total = Math.abs(last - first) + 1;
  const action = { ...scanning, isDone: false, start: () => scanning.start(first, last) };
  const bounds = { type: 'number', min: 0, max: 255, step: 1, required: true } as const;
  return (
    <details class="more">
      <summary>{say.devices.findDevices}</summary>
      <Form
        action={action}
        submit={scanning.isBusy ? say.devices.looking : say.devices.look}
        isKept
        buttons={scanning.isBusy && <Button onClick={stop}>{say.devices.stop}</Button>}
      >
        <p class="hint">{say.devices.scanHint}</p>
        <div class="pair">
          <InputField label={say.devices.fromUnit} {...bound('first_unit')} {...bounds} />
          <InputField label={say.devices.toUnit} {...bound('last_unit')} {...bounds} />
        </div>
      </Form>
      {(scanning.isBusy || found.asked > 0) && (
        <p class={scanning.isBusy ? 'waiting' : 'hint'} role="status">
          {say.devices.unitsAsked(found.asked, total, found.units.length)}
        </p>
      )}
      {found.end !== undefined && <Notice kind="warning">{found.end}</Notice>}
      <ul class="rows" aria-label={say.devices.foundDevices}>
        {found.units.map(({ unit_id: id, message }) => (
          <li key={id}>
            <span>{say.frame.said(message)}</span>
            <div class="actions">
              {units.map(({ name, title, id: now }) =>
                now === id ? (
                  <span class="hint" key={name}>
                    {title}
                  </span>
                ) : (
                  <Button
                    key={name}
                    aria-label={say.devices.useUnitAs(id, title)}
                    onClick={() => onUnit(name, id)}
                  >
                    {units.length === 1 ? say.devices.use : say.devices.useAs(title)}
                  </Button>
                ),
              )}
            </div>
          </li>
        ))}
      </ul>
    </details>
  );
}
