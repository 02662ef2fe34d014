/** The register browser: reads registers of a device that the library lacks, and makes a template of those that have a name. */
import { useEffect, useState } from 'preact/hooks';
import { callFor } from '../api.ts';
import { type, typed as adding } from '../new-device.ts';
import { useModules } from './forms.tsx';
import type { RegistersRead } from '../shapes.ts';
import { Button, Card, ErrorNotice, InputField, Notice, SelectField, useAction, useRefresh } from '../ui.tsx';
import { useTyped } from '../ui/typed.ts';
import { say } from '../words/later.ts';
import { OwnTemplate } from './own-template.tsx';
import { RowFields } from './register-row.tsx';
import { countOf, isComplete, registerOf, type RegisterRow, templateText } from './register-template.ts';

const REFRESH_MS = 2_000;
const ROWS_MAX = 60;

/** Words by the key of their row; null: the device gave none. */
type Words = ReadonlyMap<number, readonly number[] | null>;

interface Place {
  uri: string;
  unit: string;
  runtime: string;
}

const newRow = (key: number, before?: RegisterRow): RegisterRow => ({
  key,
  function: before?.function ?? 'HOLDING',
  address: before ? String((registerOf(before) ?? 0) + countOf(before)) : '0',
  type: before?.type ?? 'u16',
  isLowFirst: before?.isLowFirst ?? false,
  factor: '',
  title: '',
  unit: '',
  part: '',
});

export function RegisterBrowser() {
  const [rows, setRows] = useState<readonly RegisterRow[]>([newRow(1)]);
  const { address = '', unit_id: unit = 1 } = adding.value.connection ?? {};
  const place = useTyped<Place>(() => ({ uri: String(address), unit: String(unit), runtime: '' }));
  // Takes the result of a connection test once.
  useEffect(() => type({ connection: undefined }), []);
  const { words, problem, reading, isLive, setLive } = useLive(place.typed, rows);
  const change = (key: number, part: Partial<RegisterRow>): void =>
    setRows((before) => before.map((row) => (row.key === key ? { ...row, ...part } : row)));
  const add = (): void =>
    setRows((before) => [...before, newRow(Math.max(0, ...before.map(({ key }) => key)) + 1, before.at(-1))]);
  const isReady = place.typed.uri.trim() !== '';
  return (
    <>
      <Card title={say.adding.registers.title} data-test="registers">
        <p class="hint">{say.adding.registers.hint}</p>
        <PlaceFields {...place} />
        <ErrorNotice error={reading.error} />
        {problem !== undefined && <Notice kind="warning">{say.frame.said(problem)}</Notice>}
        <ul class="rows registers">
          {rows.map((row) => (
            <RowFields
              key={row.key}
              row={row}
              words={words.get(row.key)}
              onChange={(part) => change(row.key, part)}
              onRemove={() => setRows((before) => before.filter(({ key }) => key !== row.key))}
            />
          ))}
        </ul>
        <div class="actions">
          <Button kind="primary" isSwitch disabled={!isReady} onClick={() => setLive(!isLive)}>
            {isLive ? say.devices.stop : say.adding.registers.read}
          </Button>
          <Button disabled={rows.length >= ROWS_MAX} onClick={add}>
            {say.adding.registers.addRow}
          </Button>
        </div>
      </Card>
      <OwnTemplate
        isNamed={rows.some(isComplete)}
        textOf={(names) =>
          templateText({ ...names, uri: place.typed.uri, unitId: Number(place.typed.unit) }, rows)
        }
        connection={{ address: place.typed.uri.trim(), unit_id: Number(place.typed.unit) }}
        runtime={place.typed.runtime}
      />
    </>
  );
}

/** Reads all rows every few seconds while somebody wants that. */
function useLive({ uri, unit, runtime }: Place, rows: readonly RegisterRow[]) {
  const [words, setWords] = useState<Words>(new Map());
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [isLive, setLive] = useState(false);
  const reading = useAction(async () => {
    const asked = rows.flatMap((row) => {
      const register = registerOf(row);
      return register === undefined ? [] : [{ row, register }];
    });
    if (asked.length === 0) return;
    const body = {
      uri: uri.trim(),
      unit_id: Number(unit),
      ...(runtime !== '' && { runtime_id: runtime }),
      reads: asked.map(({ row, register }) => ({
        function: row.function,
        address: register,
        count: countOf(row),
      })),
    };
    const read = await callFor<RegistersRead>('read', 'POST', '/v3/modbus/read', body, 'reads');
    setProblem(read.usable ? undefined : read.message);
    setWords(new Map(asked.map(({ row }, index) => [row.key, read.reads[index]?.words ?? null])));
  });
  useEffect(() => {
    if (isLive) void reading.start();
  }, [isLive]);
  // An address that cannot be read at all is not polled.
  useEffect(() => {
    if (reading.error !== undefined) setLive(false);
  }, [reading.error]);
  useRefresh(() => isLive && void reading.start(), REFRESH_MS);
  return { words, problem, reading, isLive, setLive };
}

function PlaceFields({ typed, bound }: ReturnType<typeof useTyped<Place>>) {
  const modules = useModules();
  return (
    <>
      <div class="pair">
        <InputField
          label={say.adding.registers.address}
          hint={say.adding.registers.addressHint}
          {...bound('uri')}
          required
        />
        <InputField
          label={say.adding.registers.unit}
          {...bound('unit')}
          type="number"
          min={0}
          max={255}
          step={1}
        />
      </div>
      {modules.length > 1 && (
        <SelectField
          label={say.devices.runsOn}
          {...bound('runtime')}
          value={typed.runtime || (modules[0]?.value ?? '')}
          choices={modules}
        />
      )}
    </>
  );
}
