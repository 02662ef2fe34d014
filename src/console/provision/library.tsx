/** A device of the library: found by maker and product, set up in one form. */
import { useState } from 'preact/hooks';
import { call, callFor, path } from '../api.ts';
import { initialTexts, judge, type Texts, typedValues } from '../arguments.ts';
import { matchesSearch } from '../text-search.ts';
import { ArgumentFields } from '../parts/argument-form.tsx';
import type { LibraryDevice, LibraryEntry, Provisioned } from '../shapes.ts';
import { Awaited, Button, Card, Form, InputField, SelectField, useAction, useStored } from '../ui.tsx';
import { Search } from '../ui/search.tsx';
import { say } from '../words/later.ts';
import { type Made, madeOf, NAME, useModules } from './forms.tsx';
import { type, typed } from '../new-device.ts';

/** Further ones are found by typing. */
const SHOWN_MAX = 12;

const listDevices = (): Promise<LibraryDevice[]> => callFor('devices', 'GET', '/v3/library/devices');

export function ChooseFromLibrary({ onChosen }: { onChosen: (device: LibraryDevice) => void }) {
  const { answer, error } = useStored(listDevices);
  const [text, setText] = useState('');
  const [maker, setMaker] = useState('');
  const makers = [...new Set((answer ?? []).map((device) => device.maker))];
  const fitting = (answer ?? []).filter(
    (device) =>
      (maker === '' || device.maker === maker) &&
      matchesSearch([device.maker, device.name, ...device.products].join(' '), text),
  );
  const isAsked = maker !== '' || text.trim() !== '';
  return (
    <>
      <p class="hint">{say.adding.libraryHint}</p>
      <Search label={say.adding.findDevice} text={text} onText={setText} />
      <SelectField
        label={say.adding.maker}
        value={maker}
        onValue={setMaker}
        name="maker"
        choices={[
          { value: '', text: say.adding.allMakers },
          ...makers.map((value) => ({ value, text: value })),
        ]}
      />
      <Awaited answer={answer} error={error} />
      {isAsked && (
        <ul class="ways" data-test="library">
          {fitting.slice(0, SHOWN_MAX).map((device) => (
            <li key={device.id}>
              <button type="button" onClick={() => onChosen(device)}>
                <b>{device.name}</b>
                <small>{device.products.join(', ')}</small>
              </button>
            </li>
          ))}
        </ul>
      )}
      {isAsked && fitting.length > SHOWN_MAX && (
        <p class="hint">{say.adding.moreByTyping(fitting.length - SHOWN_MAX)}</p>
      )}
      {answer && isAsked && fitting.length === 0 && <p class="hint">{say.adding.noneInLibrary}</p>}
    </>
  );
}

interface FormProps {
  onBack: () => void;
  onMade: (made: Made) => void;
}

export function LibraryForm({ id, ...rest }: FormProps & { id: string }) {
  const { answer, error } = useStored(
    () => callFor<LibraryEntry>('device', 'GET', path`/v3/library/devices/${id}`),
    [id],
  );
  if (!answer)
    return (
      <>
        <Awaited answer={answer} error={error} />
        {error !== undefined && <Button onClick={rest.onBack}>{say.adding.anotherDevice}</Button>}
      </>
    );
  return <EntryForm entry={answer} {...rest} />;
}

function EntryForm({ entry, onBack, onMade }: FormProps & { entry: LibraryEntry }) {
  const { name, runtime, connection } = typed.value;
  const declared = entry.connection as Parameters<typeof initialTexts>[0];
  const [texts, setTexts] = useState<Texts>(() => initialTexts(declared, connection));
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(entry.parameters.map((parameter) => [parameter.name, parameter.default])),
  );
  const modules = useModules();
  const place = runtime || modules[0]?.value;
  const action = useAction(async () => {
    judge(declared, texts);
    const { blueprint } = await call<{ blueprint: { id: string } }>(
      'POST',
      path`/v3/library/devices/${entry.id}/blueprint`,
      { parameters: chosen },
    );
    const made = await call<Provisioned>('POST', '/v3/provisioning/lua_device', {
      name,
      blueprint_id: blueprint.id,
      runtime_id: place,
    });
    const { values } = typedValues(declared, texts);
    const configurationError = await configure(made.device_id, values);
    onMade({ ...madeOf(name, made), hasScript: true, configurationError });
  });
  return (
    <Card title={entry.name}>
      <Before entry={entry} />
      <Form
        action={action}
        submit={say.devices.addDevice}
        isKept
        buttons={<Button onClick={onBack}>{say.adding.anotherDevice}</Button>}
      >
        <InputField {...NAME} value={name} onValue={(value) => type({ name: value })} />
        {entry.parameters.map((parameter) => (
          <SelectField
            key={parameter.name}
            label={parameter.display_name}
            hint={parameter.description}
            name={parameter.name}
            value={chosen[parameter.name] ?? parameter.default}
            onValue={(value) => setChosen((before) => ({ ...before, [parameter.name]: value }))}
            choices={parameter.choices.map((choice) => ({ value: choice.value, text: choice.display_name }))}
          />
        ))}
        <ArgumentFields declared={declared} texts={texts} onTexts={setTexts} />
        {modules.length > 1 && (
          <SelectField
            label={say.devices.runsOn}
            hint={say.adding.runsOnHint}
            value={place ?? ''}
            onValue={(value) => type({ runtime: value })}
            name="runtime"
            choices={modules}
          />
        )}
      </Form>
    </Card>
  );
}

/** The device is there already: what it refuses is corrected beside it. */
async function configure(deviceId: string, set: Record<string, unknown>): Promise<unknown> {
  if (Object.keys(set).length === 0) return undefined;
  try {
    await call('PATCH', path`/v3/devices/${deviceId}/configuration/connection`, { set });
    return undefined;
  } catch (error) {
    return error;
  }
}

function Before({ entry }: { entry: LibraryEntry }) {
  return (
    <>
      <p class="hint">{entry.products.join(', ')}</p>
      {entry.before.length > 0 && (
        <section aria-label={say.adding.beforeYouBegin}>
          <h3>{say.adding.beforeYouBegin}</h3>
          <ul>
            {entry.before.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
