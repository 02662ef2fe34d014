/** Adds a device in steps: blueprint, name, connection, first values. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { may } from '../session.ts';
import { Button, Card, Empty, ErrorNotice, Notice, PageHead, useStored } from '../ui.tsx';
import { Connection } from '../parts/connection.tsx';
import { listBlueprints } from '../parts/blueprint-choice.tsx';
import type { Blueprint } from '../shapes.ts';
import { AnnouncedDevices, MqttGuestCard } from './announced.tsx';
import { ChooseBlueprint } from './choose-blueprint.tsx';
import { ChooseFromLibrary, LibraryForm } from './library.tsx';
import { DeviceForm, ModuleForm, type Made } from './forms.tsx';
import { SearchNetwork, useSearch } from './search-network.tsx';
import { JsonBrowser } from './json-browser.tsx';
import { RegisterBrowser } from './register-browser.tsx';
import { forget, type, typed } from '../new-device.ts';
import { Waiting } from './waiting.tsx';
import { say } from '../words/later.ts';

const STEPS = [say.everywhere.whatItIs, say.adding.nameAndPlace, say.everywhere.connection];

/** Ways to read a device that is not in the library. */
const BROWSERS: Readonly<Record<string, { title: string; Page: () => JSX.Element }>> = {
  registers: { title: say.adding.registers.title, Page: RegisterBrowser },
  json: { title: say.adding.json.title, Page: JsonBrowser },
};

export function AddDevicePage({ kind }: { kind: string | undefined }) {
  const [made, setMade] = useState<Made | undefined>(undefined);
  const search = useSearch();
  const isModule = kind === 'module';
  const Browser = may('INSTALLER') ? BROWSERS[kind ?? ''] : undefined;
  const step = made
    ? 2
    : typed.value.blueprint === undefined && typed.value.template === undefined && !isModule
      ? 0
      : 1;
  useEffect(() => {
    // The pressed button is gone with its step, unless a field of the next step has the focus already.
    if (document.activeElement === document.body)
      document.getElementById('content')?.focus({ preventScroll: true });
  }, [step]);
  if (!may('OWNER'))
    return (
      <Empty title={say.adding.onlyOwners}>
        <a class="button" href="#/">
          {say.frame.toTheDevices}
        </a>
      </Empty>
    );
  if (Browser)
    return (
      <>
        <PageHead title={Browser.title} back={{ href: '#/add', text: say.devices.addDevice }} />
        <Browser.Page />
      </>
    );
  return (
    <>
      <PageHead
        title={
          made ? say.adding.wasAdded(made.name) : isModule ? say.adding.addModule : say.devices.addDevice
        }
        back={{ href: '#/', text: say.frame.overview }}
      />
      <ol class="steps" aria-label={say.adding.steps}>
        {STEPS.map((text, index) => (
          <li key={text} aria-current={index === step ? 'step' : undefined}>
            {text}
          </li>
        ))}
      </ol>
      {made ? (
        <Connect made={made} onMore={() => setMade(undefined)} />
      ) : isModule ? (
        <ModuleForm onMade={setMade} />
      ) : (
        <Describe
          search={search}
          onMade={(done) => {
            search.add(typed.value.connection);
            forget();
            setMade(done);
          }}
        />
      )}
    </>
  );
}

function Describe({
  search,
  onMade,
}: {
  search: ReturnType<typeof useSearch>;
  onMade: (made: Made) => void;
}) {
  const { blueprint: id, template } = typed.value;
  const { answer, error } = useStored(listBlueprints, [id]);
  if (template !== undefined)
    return (
      <LibraryForm
        id={template}
        onBack={() => type({ template: undefined, connection: undefined })}
        onMade={onMade}
      />
    );
  if (id === undefined)
    return (
      <>
        <Card title={say.adding.fromLibrary}>
          <ChooseFromLibrary onChosen={({ id: chosen, name }) => type({ template: chosen, name })} />
          <SearchNetwork
            search={search}
            onChosen={({ id: chosen, name }, connection) => type({ template: chosen, name, connection })}
          />
        </Card>
        {may('INSTALLER') && (
          <p class="hint">
            <a href="#/add/registers">{say.adding.registers.link}</a>
            {' · '}
            <a href="#/add/json">{say.adding.json.link}</a>
          </p>
        )}
        <Card title={say.adding.whatIsIt}>
          <ChooseBlueprint onChosen={choose} />
        </Card>
        <AnnouncedDevices onAccepted={(slug) => (location.hash = `#/devices/${encodeURIComponent(slug)}`)} />
        <MqttGuestCard />
        <p class="hint">
          {say.adding.secondBoxLink((text) => (
            <a href="#/add/module">{text}</a>
          ))}
        </p>
      </>
    );
  const blueprint = answer?.find((one) => one.id === id);
  if (id !== '' && !blueprint) return <ErrorNotice error={error} />;
  return <DeviceForm blueprint={blueprint} onBack={() => type({ blueprint: undefined })} onMade={onMade} />;
}

function choose(blueprint: Blueprint | undefined): void {
  const { name } = typed.value;
  type({ blueprint: blueprint?.id ?? '', name: name === '' ? (blueprint?.display_name ?? '') : name });
}

function Connect({ made, onMore }: { made: Made; onMore: () => void }) {
  const { config, slug, hasScript, isModule, blueprintError, configurationError, id } = made;
  return (
    <>
      {blueprintError !== undefined && (
        <>
          <ErrorNotice error={blueprintError} />
          <p class="hint">{say.adding.thereWithout}</p>
        </>
      )}
      <ErrorNotice error={configurationError} />
      {config && (
        <Card title={say.adding.howItConnects} data-test="provisioned">
          <Connection config={config} slug={slug} isModule={isModule} />
        </Card>
      )}
      {isModule && !config && <Notice kind="success">{say.adding.moduleKnown}</Notice>}
      <Waiting id={id} hasScript={hasScript} />
      <div class="actions end">
        <Button onClick={onMore}>{say.adding.addAnother}</Button>
        <a class="button primary" href={`#/devices/${encodeURIComponent(slug)}`}>
          {say.adding.toTheDevice}
        </a>
      </div>
    </>
  );
}
