/** The register browser: reads registers of a device that the library lacks, and makes a template of those that have a name. */
import { registersOf } from '../../lib/register-words.ts';
import { useEffect, useState } from 'preact/hooks';
import { callFor } from '../api.ts';
import { type, typed as adding } from '../new-device.ts';
import { useModules } from './forms.tsx';
import { go } from '../route.ts';
import type { LibraryEntry, RegistersRead } from '../shapes.ts';
import {
  Button,
  Card,
  ErrorNotice,
  Form,
  InputField,
  Notice,
  SelectField,
  useAction,
  useRefresh,
} from '../ui.tsx';
import { Code, download } from '../ui/page-pieces.tsx';
import { useTyped } from '../ui/typed.ts';
import { say } from '../words/later.ts';
import { RowFields } from './register-row.tsx';
import { isComplete, registerOf, type RegisterRow, templateText } from './template-text.ts';

const REFRESH_MS = 2_000;
const YAML = 'application/yaml';
const ROWS_MAX = 60;

/** Words by the key of their row; null: the device gave none. */
type Words = ReadonlyMap<number, readonly number[] | null>;

interface Place {
  uri: string;
  unit: string;
  runtime: string;
}

const CATEGORIES = Object.entries(say.adding.registers.category).map(([value, text]) => ({ value, text }));

const newRow = (key: number, before?: RegisterRow): RegisterRow => ({
  key,
  function: before?.function ?? 'HOLDING',
  address: before ? String((registerOf(before) ?? 0) + registersOf(before.type)) : '0',
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
  // What a connection test passed on is taken once.
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
      <TemplateCard place={place.typed} rows={rows} />
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
        count: registersOf(row.type),
      })),
    };
    const read = await callFor<RegistersRead>('read', 'POST', '/v3/modbus/read', body, 'reads');
    setProblem(read.usable ? undefined : read.message);
    setWords(new Map(asked.map(({ row }, index) => [row.key, read.reads[index]?.words ?? null])));
  });
  useEffect(() => {
    if (isLive) void reading.start();
  }, [isLive]);
  // Nothing is read again and again that cannot be read at all.
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

/** Names the template, and saves it as one of the owner's own. */
function TemplateCard({ place, rows }: { place: Place; rows: readonly RegisterRow[] }) {
  const { typed, bound } = useTyped(() => ({ name: '', maker: '', category: CATEGORIES[0]?.value ?? '' }));
  const [saved, setSaved] = useState<LibraryEntry | undefined>(undefined);
  const isNamed = rows.some(isComplete);
  const text = templateText({ ...typed, uri: place.uri, unitId: Number(place.unit) }, rows);
  const saving = useAction(async () => {
    setSaved(undefined);
    setSaved(await callFor('device', 'POST', '/v3/library/devices', new Blob([text], { type: YAML })));
  });
  const addDevice = (): void => {
    const connection = { address: place.uri.trim(), unit_id: Number(place.unit) };
    type({ template: saved?.id, name: typed.name, connection, runtime: place.runtime });
    go('#/add');
  };
  return (
    <Card title={say.adding.registers.template} data-test="own-template">
      <p class="hint">{isNamed ? say.adding.registers.templateHint : say.adding.registers.nameFirst}</p>
      {isNamed && (
        <Form
          action={saving}
          submit={say.adding.registers.save}
          isKept
          buttons={
            <Button onClick={() => download('template.yml', text, YAML)}>{say.everywhere.download}</Button>
          }
        >
          <div class="pair">
            <InputField label={say.adding.maker} {...bound('maker')} required maxLength={60} />
            <InputField label={say.adding.registers.product} {...bound('name')} required maxLength={60} />
          </div>
          <SelectField label={say.adding.registers.kind} {...bound('category')} choices={CATEGORIES} />
          <details class="more">
            <summary>{say.adding.registers.show}</summary>
            <Code text={text} />
          </details>
        </Form>
      )}
      {saved && (
        <Notice kind="success">
          <p>{say.adding.registers.saved(saved.name)}</p>
          <Button onClick={addDevice}>{say.devices.addDevice}</Button>
        </Notice>
      )}
    </Card>
  );
}
