/** One way to a device: what it is, what it is called, how it connects, until its first values are there. */
import { useState } from 'preact/hooks';
import { may } from '../session.ts';
import { Button, Card, Empty, ErrorNotice, Notice, PageHead, useAnswer } from '../ui.tsx';
import { Connection } from '../parts/connection.tsx';
import { listBlueprints } from '../parts/blueprint-choice.tsx';
import type { Blueprint } from '../shapes.ts';
import { ChooseBlueprint } from './choose-blueprint.tsx';
import { DeviceForm, ModuleForm, type Made } from './forms.tsx';
import { forget, type, typed } from './typed.ts';
import { Waiting } from './waiting.tsx';

const STEPS = ['What it is', 'Name and place', 'Connection'];

export function AddDevicePage({ kind }: { kind: string | undefined }) {
  const [made, setMade] = useState<Made | undefined>(undefined);
  if (!may('OWNER'))
    return (
      <Empty title="Only an owner or installer adds devices">
        <a class="button" href="#/">
          To the devices
        </a>
      </Empty>
    );
  const isModule = kind === 'module';
  const step = made ? 2 : typed.value.blueprint === undefined && !isModule ? 0 : 1;
  return (
    <>
      <PageHead
        title={made ? `${made.name} was added` : isModule ? 'Add module' : 'Add device'}
        back={{ href: '#/', text: 'Overview' }}
      />
      <ol class="steps" aria-label="Steps">
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
          onMade={(done) => {
            forget();
            setMade(done);
          }}
        />
      )}
    </>
  );
}

function Describe({ onMade }: { onMade: (made: Made) => void }) {
  const { blueprint: id } = typed.value;
  const { answer, error } = useAnswer(listBlueprints, [id]);
  if (id === undefined)
    return (
      <>
        <Card title="What is it?">
          <ChooseBlueprint onChosen={choose} />
        </Card>
        <p class="hint">
          A second box that runs scripts near the machines?{' '}
          <a href="#/add/module">Add a communication module</a>
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
  const { config, slug, hasScript, isModule, blueprintError, id } = made;
  return (
    <>
      {blueprintError !== undefined && (
        <>
          <ErrorNotice error={blueprintError} />
          <p class="hint">The device is there without a blueprint; assign one on its page.</p>
        </>
      )}
      {config && (
        <Card title="How it connects" data-test="provisioned">
          <Connection config={config} slug={slug} isModule={isModule} />
        </Card>
      )}
      {isModule && !config && (
        <Notice kind="success">
          <p>The module is known already; nothing new was made.</p>
        </Notice>
      )}
      <Waiting id={id} hasScript={hasScript} />
      <div class="actions end">
        <Button onClick={onMore}>Add another</Button>
        <a class="button primary" href={`#/devices/${encodeURIComponent(slug)}`}>
          To the device
        </a>
      </div>
    </>
  );
}
